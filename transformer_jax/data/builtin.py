"""The built-in corpus: English-German and English-French pairs, made on the spot, the same on every machine.

It needs no download, so the whole project can be tried with it. About a third are sentences from hand-written patterns,
chosen for their word order; all that fills them, and the other two thirds, comes from CLDR (see `phrases`). No text of
either language occurs twice, so no two splits share one.
"""

import functools
import random
import unicodedata
from collections.abc import Iterator

from transformer_jax.data import phrases
from transformer_jax.data.phrases import Maker, Phrase

SPLIT_SIZES = {"test": 1_000, "dev": 500, "train": 30_000}
_OTHER_LANGUAGES = ("de", "fr")


def _texts(en: str, de: str, fr: str) -> dict[str, str]:
    return {"en": en, "de": de, "fr": fr}


def _any_of(*makers: Maker) -> Maker:
    return lambda rng: rng.choice(makers)(rng)


def _word(*rows: tuple[str, str, str]) -> Maker:
    def make(rng: random.Random) -> Phrase:
        texts = _texts(*rng.choice(rows))
        return lambda language: texts[language]

    return make


def _pattern(en: str, de: str, fr: str, *slots: Maker) -> Maker:
    """Texts with {0}, {1}... where the phrases of `slots` go."""
    texts = _texts(en, de, fr)

    def make(rng: random.Random) -> Phrase:
        parts = [slot(rng) for slot in slots]
        return lambda language: texts[language].format(*(part(language) for part in parts))

    return make


_ANY_AMOUNT = _any_of(phrases.amount, phrases.spelled_amount, phrases.price)
_ANY_QUANTITY = _any_of(phrases.quantity(), phrases.spelled_quantity())

_PAYMENT = _pattern(
    "{0} {1} {2} on {3}.",
    "Am {3} {0} {2} {1}.",
    "Le {3}, {0} {1} {2}.",
    _word(
        ("I", "habe ich", "j'ai"),
        ("He", "hat er", "il a"),
        ("She", "hat sie", "elle a"),
        ("We", "haben wir", "nous avons"),
        ("My brother", "hat mein Bruder", "mon frère a"),
        ("My neighbours", "haben meine Nachbarn", "mes voisins ont"),
    ),
    _word(
        ("paid", "bezahlt", "payé"),
        ("received", "erhalten", "reçu"),
        ("spent", "ausgegeben", "dépensé"),
        ("saved", "gespart", "économisé"),
        ("lost", "verloren", "perdu"),
    ),
    _ANY_AMOUNT,
    phrases.date,
)
_JOURNEY = _pattern(
    "{0} leaves at {1} and arrives at {2}.",
    "{0} fährt um {1} Uhr ab und kommt um {2} Uhr an.",
    "{0} part à {1} et arrive à {2}.",
    _word(
        ("The train", "Der Zug", "Le train"), ("The bus", "Der Bus", "Le bus"), ("The ship", "Das Schiff", "Le bateau")
    ),
    phrases.clock,
    phrases.clock,
)
_OPENING = _pattern(
    "{0} open from {1} to {2}.",
    "{0} von {1} bis {2} Uhr geöffnet.",
    "{0} de {1} à {2}.",
    _word(
        ("The museum is", "Das Museum ist", "Le musée est ouvert"),
        ("The library is", "Die Bibliothek ist", "La bibliothèque est ouverte"),
        ("The shops are", "Die Geschäfte sind", "Les magasins sont ouverts"),
    ),
    phrases.clock,
    phrases.clock,
)
_LENGTH = _pattern(
    "{0} is {1} long.",
    "{0} ist {1} lang.",
    "{0} fait {1} de long.",
    _word(
        ("The road", "Die Straße", "La route"),
        ("The river", "Der Fluss", "Le fleuve"),
        ("The bridge", "Die Brücke", "Le pont"),
        ("The rope", "Das Seil", "La corde"),
    ),
    _any_of(phrases.quantity(phrases.LENGTHS), phrases.spelled_quantity(phrases.LENGTHS)),
)
_WEIGHT = _pattern(
    "{0} {1}.",
    "{0} {1}.",
    "{0} {1}.",
    _word(
        ("The parcel weighs", "Das Paket wiegt", "Le colis pèse"),
        ("The suitcase weighs", "Der Koffer wiegt", "La valise pèse"),
        ("The boxes weigh", "Die Kisten wiegen", "Les caisses pèsent"),
    ),
    _any_of(phrases.quantity(phrases.MASSES), phrases.spelled_quantity(phrases.MASSES)),
)
_CHANGE = _pattern(
    "{0} {1} by {2}.",
    "{0} um {2} {1}.",
    "{0} {1} de {2}.",
    _word(
        ("The price", "Der Preis ist", "Le prix a"),
        ("The rent", "Die Miete ist", "Le loyer a"),
        ("Prices", "Die Preise sind", "Les prix ont"),
    ),
    _word(("rose", "gestiegen", "augmenté"), ("fell", "gesunken", "baissé")),
    _any_of(phrases.percentage, _ANY_AMOUNT),
)
_DEPARTURE = _pattern(
    "{0} left {1}.",
    "{0} {1} abgereist.",
    "{0} {1}.",
    _word(
        ("The guests", "Die Gäste sind", "Les invités sont partis"),
        ("My sister", "Meine Schwester ist", "Ma sœur est partie"),
        ("The doctor", "Der Arzt ist", "Le médecin est parti"),
    ),
    phrases.distance_in_time(-1),
)
_RETURN = _pattern(
    "{0} be back {1}.",
    "{0} {1} zurück.",
    "{0} de retour {1}.",
    _word(
        ("I will", "Ich bin", "Je serai"),
        ("She will", "Sie ist", "Elle sera"),
        ("We will", "Wir sind", "Nous serons"),
    ),
    phrases.distance_in_time(1),
)
_LIMIT = _pattern(
    "{0} {1}",
    "{0} {1}",
    "{0} {1}",
    _word(
        ("more than", "mehr als", "plus de"),
        ("less than", "weniger als", "moins de"),
        ("about", "etwa", "environ"),
        ("at least", "mindestens", "au moins"),
        ("at most", "höchstens", "au plus"),
    ),
    _any_of(_ANY_QUANTITY, _ANY_AMOUNT),
)
_ENTRY = _pattern("{0}: {1}", "{0}: {1}", "{0} : {1}", _any_of(phrases.weekday_date, phrases.moment), _ANY_AMOUNT)

# How often each kind is drawn, in per cent.
_MIXTURE: dict[Maker, int] = {
    phrases.cardinal: 9,
    phrases.ordinal: 4,
    phrases.weekday_date: 6,
    phrases.moment: 6,
    phrases.quantity(): 6,
    phrases.spelled_quantity(): 7,
    phrases.amount: 5,
    phrases.spelled_amount: 5,
    phrases.rate: 4,
    phrases.listed(phrases.cardinal): 3,
    phrases.listed(_ANY_QUANTITY): 4,
    phrases.listed(_ANY_AMOUNT): 3,
    _LIMIT: 5,
    _ENTRY: 3,
    _PAYMENT: 8,
    _JOURNEY: 5,
    _OPENING: 4,
    _LENGTH: 3,
    _WEIGHT: 3,
    _CHANGE: 3,
    _DEPARTURE: 2,
    _RETURN: 2,
}


def _normalised(text: str) -> str:
    """NFKC turns no-break and thin spaces into spaces."""
    return unicodedata.normalize("NFKC", text)


def _distinct_pairs(other_language: str) -> Iterator[tuple[str, str]]:
    """Endless (English, other) pairs; no text of either side comes twice."""
    rng = random.Random("built-in corpus")
    makers, weights = list(_MIXTURE), list(_MIXTURE.values())
    seen_english: set[str] = set()
    seen_other: set[str] = set()
    while True:
        phrase = rng.choices(makers, weights)[0](rng)
        english, other = _normalised(phrase("en")), _normalised(phrase(other_language))
        if english not in seen_english and other not in seen_other:
            yield english, other
        seen_english.add(english)
        seen_other.add(other)


@functools.cache
def _splits(other_language: str) -> dict[str, tuple[tuple[str, str], ...]]:
    pairs = _distinct_pairs(other_language)
    return {split: tuple(next(pairs) for _ in range(size)) for split, size in SPLIT_SIZES.items()}


def builtin_pairs(source_language: str, target_language: str, split: str) -> list[tuple[str, str]]:
    """The (source, target) pairs of one split of the built-in corpus.

    Raises:
        ValueError: the languages are not English and one of German and French, or there is no such split.
    """
    if split not in SPLIT_SIZES:
        raise ValueError(f"built-in corpus: split {split!r}: must be one of train, dev, test")
    for other in _OTHER_LANGUAGES:
        if (source_language, target_language) == ("en", other):
            return list(_splits(other)[split])
        if (source_language, target_language) == (other, "en"):
            return [(source, target) for target, source in _splits(other)[split]]
    raise ValueError(
        f"built-in corpus: languages {source_language!r} to {target_language!r}: must be one of "
        + ", ".join(f"'en' to {other!r}, {other!r} to 'en'" for other in _OTHER_LANGUAGES)
    )
