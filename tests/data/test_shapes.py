"""The shapes of batches: those that pad least, nested, and filled to the budget but never over it."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_jax.data import shapes
from transformer_jax.data.shapes import batch_shapes, first_that_holds, length_bounds, nested_lengths, rows_of


def padded_total(lengths, bounds):
    return sum(min(bound for bound in bounds if bound >= length) for length in lengths)


def positions(pairs, chain):
    """Of both sides, each pair in the cheapest rectangle that holds it."""
    return sum(min(S + T for S, T in chain if s <= S and t <= T) for s, t in pairs)


def is_nested(chain):
    return all(S_next >= S and T_next >= T for (S, T), (S_next, T_next) in itertools.pairwise(chain))


def least_positions(pairs, num_shapes):
    """By trying all nested rectangles of the pairs' lengths."""
    top = tuple(max(side) for side in zip(*pairs, strict=True))
    cells = sorted(itertools.product(*({*side} for side in zip(*pairs, strict=True))))
    chains = ([*chain, top] for size in range(num_shapes) for chain in itertools.combinations(cells[:-1], size))
    return min(positions(pairs, chain) for chain in chains if is_nested(chain))


def sides(pairs):
    return tuple(np.array(side, np.int32) for side in zip(*pairs, strict=True))


def sentence_lengths(count):
    """Skewed to the right as those of sentences are: about 29 tokens, the target's 5 % more."""
    rng = np.random.default_rng(3)
    source = np.clip(rng.gamma(2.5, 11, count), 2, 400).astype(np.int32)
    return source, np.clip(source * rng.normal(1.05, 0.15, count), 2, 400).astype(np.int32)


@pytest.mark.parametrize("seed", range(40))
def test_length_bounds_are_optimal(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 13, rng.integers(1, 40))
    values = sorted(set(lengths.tolist()))
    for num_bounds in range(1, 6):
        bounds = length_bounds(lengths, num_bounds)
        assert 1 <= len(bounds) <= num_bounds
        assert list(bounds) == sorted(set(bounds))
        candidates = itertools.combinations(values, min(num_bounds, len(values)))
        least = min(padded_total(lengths, chosen) for chosen in candidates if chosen[-1] == values[-1])
        assert padded_total(lengths, bounds) == least


def test_length_bounds_by_hand():
    # 90 of length 3, 1 of 4, 30 of 10: the 4 costs less padded to 10 than 90 threes padded to 4.
    assert length_bounds(np.repeat([3, 4, 10], [90, 1, 30]), 2) == (3, 10)
    assert length_bounds(np.repeat([3, 4, 10], [2, 1, 30]), 2) == (4, 10)
    assert length_bounds(np.array([7, 5, 7]), 9) == (5, 7)
    assert length_bounds(np.array([7, 5, 7]), 1) == (7,)


@pytest.mark.parametrize("seed", range(40))
def test_nested_lengths_are_optimal(seed):
    """At most 40 lengths a side: the best of all."""
    rng = np.random.default_rng(seed)
    highest = rng.integers(2, 6, 2)
    pairs = [tuple(pair) for pair in (1 + rng.integers(0, highest, (rng.integers(1, 25), 2))).tolist()]
    for num_shapes in range(1, 5):
        chain = nested_lengths(*sides(pairs), num_shapes)
        assert len(chain) <= num_shapes
        assert is_nested(chain)
        assert positions(pairs, chain) == least_positions(pairs, num_shapes)
        taken = first_that_holds(tuple((1, *lengths) for lengths in chain), *sides(pairs))
        assert set(taken.tolist()) == set(range(len(chain))), "a shape without pairs, or pairs without a shape"


def test_nested_lengths_by_hand():
    def best(num_shapes, **counts):
        pairs = [tuple(map(int, name[1:].split("_"))) for name, count in counts.items() for _ in range(count)]
        return nested_lengths(*sides(pairs), num_shapes)

    # Targets three times as long as the sources.
    assert best(2, p2_6=10, p3_9=10) == ((2, 6), (3, 9))
    assert best(9, p2_6=10, p3_9=10) == ((2, 6), (3, 9))
    assert best(1, p2_6=10, p3_9=10) == ((3, 9),)
    # Padded by 3 in the larger shape, the pair of 3 and 6 costs less than 90 pairs padded by 1, and more than 2.
    assert best(2, p2_6=90, p3_6=1, p3_9=30) == ((2, 6), (3, 9))
    assert best(2, p2_6=2, p3_6=1, p3_9=30) == ((3, 6), (3, 9))
    # Two that do not nest: the more frequent one has a shape of its own.
    assert best(3, p1_5=3, p5_1=2) == ((1, 5), (5, 5))
    assert best(3, p1_5=2, p5_1=3) == ((5, 1), (5, 5))


def test_candidate_lengths_cost_little(monkeypatch):
    """With more lengths than are tried, against all of them."""
    rng = np.random.default_rng(5)
    source = np.clip(rng.gamma(3, 6, 3000), 1, 48).astype(np.int32)
    target = np.clip(source * rng.normal(1.1, 0.2, 3000), 1, 50).astype(np.int32)
    pairs = list(zip(source.tolist(), target.tolist(), strict=True))
    chain = nested_lengths(source, target, 5)
    monkeypatch.setattr(shapes, "_CANDIDATES", 10)
    of_ten = nested_lengths(source, target, 5)
    assert all(len({lengths[side] for lengths in of_ten} - {*length_bounds(array, 10)}) == 0
               for side, array in enumerate((source, target)))  # fmt: skip
    monkeypatch.setattr(shapes, "_CANDIDATES", 50)
    least = positions(pairs, nested_lengths(source, target, 5))
    assert least <= positions(pairs, chain) < 1.001 * least
    assert positions(pairs, chain) < positions(pairs, of_ten)


def test_pairs_are_counted_alike_in_any_chunks(monkeypatch):
    lengths = sentence_lengths(211)
    whole = nested_lengths(*lengths, 5)
    monkeypatch.setattr(shapes, "_CHUNK", 13)
    assert nested_lengths(*lengths, 5) == whole


def test_sentences_are_padded_less_than_in_squares():
    source, target = sentence_lengths(20_000)
    pairs = list(zip(source.tolist(), target.tolist(), strict=True))
    chain = nested_lengths(source, target, 16)
    squares = [(bound, bound) for bound in length_bounds(np.maximum(source, target), 16)]
    assert len(chain) == 16
    assert positions(pairs, chain) < positions(pairs, squares)
    assert 1 - (source.sum() + target.sum()) / positions(pairs, chain) < 0.14


def test_rows_by_hand():
    assert [rows_of(length, 100) for length in (1, 3, 6, 12, 13, 14, 33, 34, 100)] == [96, 32, 16, 8, 7, 7, 3, 2, 1]
    assert rows_of(101, 100) == 1


@given(st.integers(1, 300), st.integers(1, 3000))
def test_rows_fill_the_budget_and_no_more(length, tokens_per_batch):
    rows = rows_of(length, tokens_per_batch)
    step = 8 if rows >= 8 else 1
    assert rows % step == 0
    assert (rows + step) * length > tokens_per_batch, "more rows would fit"
    assert rows * length <= tokens_per_batch or rows == 1


def test_shapes_are_filled_by_their_longer_side():
    pairs = [(2, 6)] * 5 + [(9, 7)] * 3
    assert batch_shapes(*sides(pairs), tokens_per_batch=100, num_shapes=2) == ((16, 2, 6), (8, 9, 7))
