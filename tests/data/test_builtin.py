"""The built-in corpus: the same everywhere, split cleanly, and right in both languages."""

import datetime
import functools
import hashlib
import json
import os
import random
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from transformer_jax.data import phrases
from transformer_jax.data.builtin import builtin_pairs

PROJECT_ROOT = Path(__file__).resolve().parents[2]
SIZES = {"train": 30_000, "dev": 500, "test": 1_000}
OTHER_LANGUAGES = ("de", "fr")

# Of the pinned Babel and num2words: a change of either must be noticed, and stated, before scores are compared.
SHA256 = {
    "en-de train": "1cbd8f7d2805a799707f12c416873b86ec8776381217ec6780a9832ce30ce094",
    "en-de dev": "8f01dd0a02f6343ea2fc45f0cbc7eb7da1a85e17b7c3bac7752aa2d7d069b276",
    "en-de test": "98a620e91f043f3afd54cdc48d3b43dd23a1dc72b32e8fefa20c936bc822c76e",
    "en-fr train": "00cf924705636f81d3e402d20e843eaf4c8b2089eff1994767da35b1b0a3df7d",
    "en-fr dev": "a1aecf49c8d084cf915f422476329c616a1bed6fb888dabb00d525dc9a6abd37",
    "en-fr test": "e3893ca9c717584a8bb5a867247ee8a303af9779951a67b4a78a6412f2ec22aa",
}

# English, German, French: one or two of each kind of phrase, checked by hand.
CHECKED = [
    ("ninety-one", "einundneunzig", "quatre-vingt-onze"),
    (
        "one thousand, two hundred and ninety-seven",
        "eintausendzweihundertsiebenundneunzig",
        "mille deux cent quatre-vingt-dix-sept",
    ),
    ("six hundred and twenty-ninth", "sechshundertneunundzwanzigste", "six cent vingt-neuvième"),
    ("Tuesday, 6 January 1998", "Dienstag, 6. Januar 1998", "mardi 6 janvier 1998"),
    ("21 March 1949, 11:05 pm", "21. März 1949, 23:05", "21 mars 1949, 23:05"),
    ("128 square metres", "128 Quadratmeter", "128 mètres carrés"),
    ("1.6 weeks", "1,6 Wochen", "1,6 semaine"),
    ("1,332 kilograms per second", "1.332 Kilogramm pro Sekunde", "1 332 kilogrammes par seconde"),
    ("seven square metres", "sieben Quadratmeter", "sept mètres carrés"),
    ("45 Swiss francs", "45 Schweizer Franken", "45 francs suisses"),
    ("ninety-two Indian rupees", "zweiundneunzig Indische Rupien", "quatre-vingt-douze roupies indiennes"),
    ("€12.10 and €76.65", "12,10 € und 76,65 €", "12,10 € et 76,65 €"),
    (
        "61 years, 736 months or 9 kilometres",
        "61 Jahre, 736 Monate oder 9 Kilometer",
        "61 ans, 736 mois ou 9 kilomètres",
    ),
    ("at most three feet", "höchstens drei Fuß", "au plus trois pieds"),
    (
        "16 May 1969, 1:04 am: 21 Swedish kronor",
        "16. Mai 1969, 01:04: 21 Schwedische Kronen",
        "16 mai 1969, 01:04 : 21 couronnes suédoises",
    ),
    (
        "I paid thirteen British pounds on 16 August 2029.",
        "Am 16. August 2029 habe ich dreizehn Britische Pfund bezahlt.",
        "Le 16 août 2029, j'ai payé treize livres sterling.",
    ),
    (
        "The train leaves at 12:48 am and arrives at 4:15 am.",
        "Der Zug fährt um 00:48 Uhr ab und kommt um 04:15 Uhr an.",
        "Le train part à 00:48 et arrive à 04:15.",
    ),
    (
        "The shops are open from 1:59 pm to 3:47 pm.",
        "Die Geschäfte sind von 13:59 bis 15:47 Uhr geöffnet.",
        "Les magasins sont ouverts de 13:59 à 15:47.",
    ),
    (
        "The road is 97.7 kilometres long.",
        "Die Straße ist 97,7 Kilometer lang.",
        "La route fait 97,7 kilomètres de long.",
    ),
    ("The boxes weigh seven tonnes.", "Die Kisten wiegen sieben Tonnen.", "Les caisses pèsent sept tonnes."),
    ("Prices fell by 60.6%.", "Die Preise sind um 60,6 % gesunken.", "Les prix ont baissé de 60,6 %."),
    (
        "My sister left 51 days ago.",
        "Meine Schwester ist vor 51 Tagen abgereist.",
        "Ma sœur est partie il y a 51 jours.",
    ),
    ("She will be back in 92 months.", "Sie ist in 92 Monaten zurück.", "Elle sera de retour dans 92 mois."),
]


@functools.cache
def every_pair(other: str) -> list[tuple[str, str]]:
    return [pair for split in SIZES for pair in builtin_pairs("en", other, split)]


def digests() -> dict[str, str]:
    """For "en-de train" and so on: the SHA-256 of the split as a tab-separated file."""
    return {
        f"en-{other} {split}": hashlib.sha256(
            "".join(f"{source}\t{target}\n" for source, target in builtin_pairs("en", other, split)).encode()
        ).hexdigest()
        for other in OTHER_LANGUAGES
        for split in SIZES
    }


def test_text_is_frozen():
    assert digests() == SHA256


def test_text_does_not_depend_on_hash_seed_time_zone_or_locale():
    program = (
        "import json; from transformer_jax.data.builtin import builtin_pairs;"
        "print(json.dumps([builtin_pairs('en', 'de', s) for s in ('dev', 'test')]))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "17", "TZ": "America/Caracas", "LC_ALL": "C"}
    output = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT_ROOT, env=environment, capture_output=True, check=True, text=True
    ).stdout
    here = [builtin_pairs("en", "de", split) for split in ("dev", "test")]
    assert [[tuple(pair) for pair in pairs] for pairs in json.loads(output)] == here


@pytest.mark.parametrize("other", OTHER_LANGUAGES)
def test_split_sizes(other):
    assert {split: len(builtin_pairs("en", other, split)) for split in SIZES} == SIZES


@pytest.mark.parametrize("other", OTHER_LANGUAGES)
@pytest.mark.parametrize("side", [0, 1])
def test_no_text_occurs_twice_within_or_between_splits(other, side):
    texts = [pair[side] for pair in every_pair(other)]
    assert len(set(texts)) == len(texts) == sum(SIZES.values())


@pytest.mark.parametrize("other", OTHER_LANGUAGES)
def test_text_is_in_normal_form(other):
    for text in (text for pair in every_pair(other) for text in pair):
        assert unicodedata.normalize("NFKC", text) == text
        assert text == " ".join(text.split())
        assert re.fullmatch(r"[\w %',\-.:$£€]+", text)


@pytest.mark.parametrize("other", OTHER_LANGUAGES)
def test_sentences_are_short(other):
    lengths = [len(text.split()) for pair in every_pair(other) for text in pair]
    assert max(lengths) <= 25
    assert 5 <= sum(lengths) / len(lengths) <= 8


@pytest.mark.parametrize("other", OTHER_LANGUAGES)
@pytest.mark.parametrize("split", SIZES)
def test_other_direction_is_the_same_pairs_swapped(other, split):
    swapped = [(target, source) for source, target in builtin_pairs(other, "en", split)]
    assert swapped == builtin_pairs("en", other, split)


def test_a_caller_may_change_its_list():
    pairs = builtin_pairs("en", "de", "dev")
    pairs.clear()
    assert len(builtin_pairs("en", "de", "dev")) == SIZES["dev"]


@pytest.mark.parametrize(("english", "german", "french"), CHECKED)
def test_hand_checked_pairs(english, german, french):
    assert dict(every_pair("de"))[english] == german
    assert dict(every_pair("fr"))[english] == french


def minutes_of_twelve_hour_clock(text: str) -> list[int]:
    found = re.findall(r"(\d+):(\d\d) ([ap])m", text)
    return [int(hour) % 12 * 60 + int(minute) + 720 * (half == "p") for hour, minute, half in found]


@pytest.mark.parametrize("other", OTHER_LANGUAGES)
def test_times_of_day_agree(other):
    total = 0
    for english, text in every_pair(other):
        minutes = [int(hour) * 60 + int(minute) for hour, minute in re.findall(r"(\d\d):(\d\d)", text)]
        assert minutes == minutes_of_twelve_hour_clock(english)
        total += len(minutes)
    assert total > 5_000


def test_weekdays_are_right():
    names = ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"]
    dates = [
        (german, datetime.datetime.strptime(english, "%A, %d %B %Y"))
        for english, german in every_pair("de")
        if re.fullmatch(r"\w+day, \d+ \w+ \d{4}", english)
    ]
    assert len(dates) > 1_000
    for german, date in dates:
        assert german.startswith(f"{names[date.weekday()]}, {date.day}. ")
        assert german.endswith(f" {date.year}")


_SMALL = "ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn"
GERMAN_SMALL = [*_SMALL.split(), "achtzehn", "neunzehn"]
GERMAN_TENS = ["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]


def german_number(number: int) -> str:
    """1 to 9,999, spelled independently of num2words."""
    for power, name in ((1000, "tausend"), (100, "hundert")):
        if number >= power:
            rest = german_number(number % power) if number % power else ""
            return GERMAN_SMALL[number // power - 1] + name + rest
    if number < 20:
        return GERMAN_SMALL[number - 1] + ("s" if number == 1 else "")
    unit = f"{GERMAN_SMALL[number % 10 - 1]}und" if number % 10 else ""
    return unit + GERMAN_TENS[number // 10 - 2]


class OneNumber(random.Random):
    """Draws `number` wherever a phrase draws a count."""

    def __init__(self, number: int):
        super().__init__(0)
        self.number = number

    def randrange(self, *_bounds: int) -> int:
        return self.number


@pytest.mark.parametrize("number", [2, 11, 16, 17, 20, 21, 30, 101, 110, 216, 999, 1000, 1001, 2317, 9999])
def test_german_numerals(number):
    assert phrases.cardinal(OneNumber(number))("de") == german_number(number)


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_spelled_quantities_hold_no_digit(language):
    makers = [phrases.spelled_quantity(), phrases.spelled_amount]
    for maker in makers:
        for seed in range(100):
            assert not re.search(r"\d", maker(random.Random(seed))(language))


@pytest.mark.parametrize(("source", "target"), [("de", "fr"), ("en", "en"), ("en", "nl"), ("de", "de"), ("", "en")])
def test_unknown_languages_are_refused(source, target):
    with pytest.raises(ValueError, match=f"'{source}' to '{target}'.*'en' to 'de'.*'fr' to 'en'"):
        builtin_pairs(source, target, "train")


def test_unknown_split_is_refused():
    with pytest.raises(ValueError, match=r"'valid'.*train, dev, test"):
        builtin_pairs("en", "de", "valid")
