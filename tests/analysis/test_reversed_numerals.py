"""Numerals that German turns round: found as num2words spells them, and whom a head looks at, by hand."""

import random

import numpy as np
import pytest
from num2words import num2words

from transformer_jax.analysis.reversed_numerals import Numeral, NumeralPieces, looks, numeral_pieces, numerals
from transformer_jax.data import phrases

TURNED = [value for value in range(21, 100) if value % 10]


def said(text, language):
    """The values, and what stands where unit and tens are said to be."""
    return [(each.value, text[slice(*each.unit)], text[slice(*each.tens)]) for each in numerals(text, language)]


@pytest.mark.parametrize("kind", ["cardinal", "ordinal"])
def test_all_that_num2words_spells(kind):
    """Also behind hundreds; and no other number is one."""
    for value in range(1, 1000):
        expected = [value % 100] if value % 100 in TURNED else []
        for language, spelled in (("en", "en_GB"), ("de", "de")):
            text = num2words(value, lang=spelled, to=kind)
            assert [each.value for each in numerals(text, language)] == expected, text


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("twenty-one", "en", [(21, "one", "twenty")]),
        ("the sixty-sixth of seventy-seven", "en", [(66, "sixth", "sixty"), (77, "seven", "seventy")]),
        ("einundzwanzig", "de", [(21, "ein", "zwanzig")]),
        ("hundertsechsundsechzigstem", "de", [(66, "sechs", "sechzigstem")]),
        ("vierunddreißig oder neununddreißig", "de", [(34, "vier", "dreißig"), (39, "neun", "dreißig")]),
        ("eighteen, twenty, forty-ten, seventy-oned", "en", []),
        ("hundertundzwanzig, achtzehn, zwanzig", "de", []),
    ],
)
def test_words_by_hand(text, language, expected):
    assert said(text, language) == expected


def test_both_sides_of_the_built_in_corpus_say_the_same():
    rng, found = random.Random(1), []
    makers = [phrases.cardinal, phrases.ordinal, phrases.spelled_amount, phrases.listed(phrases.spelled_quantity())]
    for phrase in (make(rng) for make in makers for _ in range(40)):
        ours, theirs = ([each.value for each in numerals(phrase(lang), lang)] for lang in ("en", "de"))
        assert ours == theirs
        found += ours
    assert len(set(found)) > 40


NINETY_NINE = Numeral(99, (7, 11), (0, 6)), Numeral(99, (0, 4), (7, 14))  # "ninety-nine", "neunundneunzig"


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ([(0, 6), (6, 7), (7, 11), (11, 11)], [(0, 4), (4, 14), (14, 14)], ([2], [0], [0], [1])),
        ([(0, 6), (6, 11)], [(0, 7), (7, 14)], ([1], [0], [0], [1])),  # "-nine", "neunund"
        ([(0, 3), (3, 6), (6, 7), (7, 9), (9, 11)], [(0, 2), (2, 4), (4, 7), (7, 14)], ([3, 4], [0, 1], [0, 1], [3])),
    ],
)
def test_pieces_by_hand(source, target, expected):
    assert numeral_pieces(*([each] for each in NINETY_NINE), source, target) == [NumeralPieces(*expected)]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ([(0, 11)], [(0, 4), (4, 14)]),  # one piece says both
        ([(0, 6), (6, 7), (7, 11)], [(0, 9), (9, 14)]),  # "neununds" says the unit, but the tens too
        ([(0, 6), (6, 7), (7, 20)], [(0, 4), (4, 14)]),  # the unit's reaches beyond the numeral
    ],
)
def test_a_numeral_without_pieces_for_each_word_does_not_count(source, target):
    assert numeral_pieces(*([each] for each in NINETY_NINE), source, target) == []


def test_sides_that_say_different_numerals_do_not_count():
    ours, theirs = NINETY_NINE
    spans = [(0, 6), (6, 7), (7, 11)], [(0, 4), (4, 14)]
    assert numeral_pieces([ours], [theirs._replace(value=98)], *spans) == []
    assert numeral_pieces([ours], [], *spans) == []


def test_looks_by_hand():
    """Heads: turns round; looks at the unit twice; keeps the order; is right in one of the tens' two pieces."""
    pieces = NumeralPieces(source_unit=[2], source_tens=[0], target_unit=[1], target_tens=[2, 3])
    rows = [[0, 2, 0, 0], [0, 2, 2, 2], [0, 0, 2, 2], [0, 2, 0, 1]]
    weights = 0.6 * np.eye(4)[np.array(rows)][None] + 0.1
    found = looks(weights, pieces)
    assert found.unit.tolist() == [[True, True, False, True]]
    assert found.tens.tolist() == [[True, False, False, False]]
    assert found.reversed.tolist() == [[True, False, False, False]]
    assert found.in_order.tolist() == [[False, False, True, False]]
