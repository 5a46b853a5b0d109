"""How long translations are beside their references, by hand."""

import numpy as np
import pytest

from transformer_jax.metrics.length_ratio import LengthRatio, length_ratio, length_ratios

# A sentence a row: tokens of the source, the hypothesis, the reference.
SENTENCES = np.array(
    [(0, 0, 4), (10, 6, 8), (11, 30, 20), (61, 50, 100), (20, 10, 20), (1000, 60, 100), (60, 7, 0), (3, 3, 0)]
)
GROUPS = [
    LengthRatio(0, 10, 3, 9 / 12),
    LengthRatio(11, 20, 2, 40 / 40),
    LengthRatio(41, 60, 1, None),
    LengthRatio(61, None, 2, 110 / 200),
]


def test_ratios_by_hand():
    assert length_ratio(*SENTENCES.T[1:]) == pytest.approx(166 / 252)
    assert length_ratios(*SENTENCES.T) == GROUPS


def test_without_references_there_is_none():
    nothing = np.zeros(0, int)
    assert length_ratio(nothing, nothing) is None
    assert length_ratio(np.array([3, 0]), np.array([0, 0])) is None
    assert length_ratios(nothing, nothing, nothing) == []


def test_each_sentence_is_in_the_one_group_that_says_so():
    lengths = np.random.default_rng(3).permutation(np.arange(200))
    ones = np.ones_like(lengths)
    groups = length_ratios(lengths, ones, ones)
    for group in groups:
        high = np.inf if group.high is None else group.high
        assert group.sentences == ((group.low <= lengths) & (lengths <= high)).sum()
    assert sum(group.sentences for group in groups) == len(lengths)
    assert [group.low for group in groups] == [0, 11, 21, 31, 41, 61]
