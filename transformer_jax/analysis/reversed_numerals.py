"""Does attention over the source turn round where German does? "twenty-one" is "einundzwanzig": the unit comes first.

Of the pieces of a spelled number, only those count that belong to its unit alone or to its tens alone: in "hundertacht"
and "undzwanzig", the first does not, since it says the hundred too, and the second does.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from transformer_jax.analysis.piece_spans import Span

_UNITS = {
    "en": ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"],
    "de": ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"],
}
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"]
_TENS = {
    "en": ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"],
    "de": ["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"],
}
# Ordinals' endings belong to the word before them.
_PATTERNS = {
    "en": re.compile(rf"\b(?P<tens>{'|'.join(_TENS['en'])})-(?P<unit>{'|'.join(_UNITS['en'] + _ORDINALS)})\b"),
    "de": re.compile(rf"(?P<unit>{'|'.join(_UNITS['de'])})und(?P<tens>(?:{'|'.join(_TENS['de'])})(?:ste[mnrs]?)?)"),
}
LANGUAGES = frozenset(_PATTERNS)


class Numeral(NamedTuple):
    """A number from 21 to 99, in words, in a text."""

    value: int
    unit: Span
    tens: Span


class NumeralPieces(NamedTuple):
    """The positions of a numeral's pieces on both sides, at least one each."""

    source_unit: list[int]
    source_tens: list[int]
    target_unit: list[int]
    target_tens: list[int]


class Looks(NamedTuple):
    """Whom every head looks at most, where the target says the numeral."""

    unit: Bool[np.ndarray, "layers H"]  # the unit's pieces at the source's unit
    tens: Bool[np.ndarray, "layers H"]  # the tens' at the source's tens
    reversed: Bool[np.ndarray, "layers H"]  # both: it turned round
    in_order: Bool[np.ndarray, "layers H"]  # what comes first at what comes first, both times: it did not


def numerals(text: str, language: str) -> list[Numeral]:
    """Those of an English ("en") or German ("de") text, in order."""
    return [
        Numeral(_value(match["unit"], match["tens"], language), match.span("unit"), match.span("tens"))
        for match in _PATTERNS[language].finditer(text)
    ]


def _value(unit: str, tens: str, language: str) -> int:
    units = _ORDINALS if unit in _ORDINALS else _UNITS[language]
    tens_words = _TENS[language]
    return 10 * next(i for i, word in enumerate(tens_words, 2) if tens.startswith(word)) + units.index(unit) + 1


def numeral_pieces(
    source: Sequence[Numeral], target: Sequence[Numeral], source_spans: Sequence[Span], target_spans: Sequence[Span]
) -> list[NumeralPieces]:
    """Of each numeral of a pair of texts, the pieces that count; numerals that have none for a word are left out.

    So are all of a pair whose sides do not say the same numerals in the same order.
    """
    if [each.value for each in source] != [each.value for each in target]:
        return []
    found = [
        NumeralPieces(*_pieces(ours, source_spans), *_pieces(theirs, target_spans))
        for ours, theirs in zip(source, target, strict=True)
    ]
    return [pieces for pieces in found if all(pieces)]


def _pieces(numeral: Numeral, spans: Sequence[Span]) -> tuple[list[int], list[int]]:
    """Of the unit, of the tens: pieces that do not reach beyond the numeral, and have letters of one of the two."""
    first, last = min(numeral.unit, numeral.tens)[0], max(numeral.unit, numeral.tens)[1]
    inside = [i for i, (start, end) in enumerate(spans) if first <= start < end <= last]
    unit, tens = ({i for i in inside if _overlap(spans[i], word)} for word in (numeral.unit, numeral.tens))
    return sorted(unit - tens), sorted(tens - unit)


def _overlap(a: Span, b: Span) -> bool:
    return max(a[0], b[0]) < min(a[1], b[1])


def looks(weights: Float[np.ndarray, "layers H T S"], pieces: NumeralPieces) -> Looks:
    """By the largest weight of each piece's row, over all of the source; the first of equals."""
    largest = weights.argmax(-1)

    def at(target: list[int], source: list[int]) -> Bool[np.ndarray, "layers H"]:
        return np.array(np.isin(largest[:, :, target], source).all(-1))

    unit, tens = at(pieces.target_unit, pieces.source_unit), at(pieces.target_tens, pieces.source_tens)
    crossed = at(pieces.target_unit, pieces.source_tens) & at(pieces.target_tens, pieces.source_unit)
    return Looks(unit, tens, unit & tens, crossed)
