"""Every source in one batch, in few shapes, the longest first, within the budget."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_jax.decoding.source_batches import batch_length, row_counts, rows_for, source_batches
from transformer_jax.special_ids import PAD_ID

LONGEST = 70


def sources_of(lengths: list[int]) -> list[list[int]]:
    """Whose ids, all different, say where they come from."""
    return [list(range(1 + 100 * i, 1 + 100 * i + length)) for i, length in enumerate(lengths)]


cases = given(
    lengths=st.lists(st.integers(0, LONGEST), max_size=130), beam_size=st.integers(1, 7), budget=st.integers(1, 20_000)
)


@cases
def test_every_source_is_once_in_a_batch_and_nothing_else(lengths, beam_size, budget):
    """Whole, at its row; all else is padding. The longest are first, equals in the order they came."""
    sources, seen = sources_of(lengths), []
    for indices, ids in source_batches(sources, longest=LONGEST, beam_size=beam_size, tokens_per_batch=budget):
        assert 0 < len(indices) <= len(ids)
        assert ids.dtype == np.int32
        for row, i in itertools.zip_longest(ids, indices):
            expected = [] if i is None else sources[i]
            assert row.tolist() == expected + [PAD_ID] * (ids.shape[1] - len(expected))
        seen += indices
    assert seen == sorted(range(len(sources)), key=lambda i: -lengths[i])


@cases
def test_shapes_are_few_and_within_the_budget(lengths, beam_size, budget):
    """Rows are those of `row_counts`; positions the fewest that hold the longest. Only the last batch of a length has
    rows left, and these are fewer than a smaller batch would save.
    """
    rows_left = {}
    for indices, ids in source_batches(
        sources_of(lengths), longest=LONGEST, beam_size=beam_size, tokens_per_batch=budget
    ):
        rows, positions = ids.shape
        counts = row_counts(positions, beam_size, budget)
        assert rows in counts
        assert rows * positions * beam_size <= budget or rows == 8
        assert {batch_length(lengths[i], LONGEST) for i in indices} == {positions}
        assert rows_left.get(positions, 0) == 0
        rows_left[positions] = rows - len(indices)
        assert rows_left[positions] == 0 or rows == counts[-1]


@given(positions=st.sampled_from([16, 32, 64, 70, 512]), beam_size=st.integers(1, 9), budget=st.integers(1, 100_000))
def test_numbers_of_rows_fall_by_a_quarter_at_least_and_are_multiples_of_eight(positions, beam_size, budget):
    counts = row_counts(positions, beam_size, budget)
    assert all(count % 8 == 0 for count in counts)
    assert all(more // 4 - 8 < fewer <= more // 4 for more, fewer in itertools.pairwise(counts))
    assert 8 <= counts[-1] < 32
    assert (counts[0] + 8) * positions * beam_size > budget, "not even 8 rows more fit"


@pytest.mark.parametrize(
    ("positions", "beam_size", "budget", "expected"),
    [
        (16, 4, 8192, [128, 32, 8]),
        (32, 4, 8192, [64, 16]),
        (512, 4, 8192, [8]),
        (16, 3, 1920, [40, 8]),
        (16, 1, 1, [8]),
    ],
)
def test_numbers_of_rows_by_hand(positions, beam_size, budget, expected):
    assert row_counts(positions, beam_size, budget) == expected


def test_the_rows_for_some_sentences():
    assert [rows_for(sentences, [128, 32, 8]) for sentences in (1, 8, 9, 32, 33, 128, 200)] == [
        8, 8, 32, 32, 128, 128, 128,
    ]  # fmt: skip


def test_positions_double_up_to_the_longest():
    assert [batch_length(length, 70) for length in (0, 1, 16, 17, 32, 33, 64, 65, 70)] == [
        16, 16, 16, 32, 32, 64, 64, 70, 70,
    ]  # fmt: skip
    assert [batch_length(length, 7) for length in (1, 7)] == [7, 7]
