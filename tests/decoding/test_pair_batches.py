"""Pairs in batches: each once, whole, in few shapes of the budget's size."""

import numpy as np
import pytest

from transformer_jax.decoding.pair_batches import Pair, pair_batches
from transformer_jax.model.embedding import SequenceTooLongError
from transformer_jax.special_ids import PAD_ID

RNG = np.random.default_rng(3)
LENGTHS = [*RNG.integers(1, 17, (83, 2)).tolist(), (1, 70), (70, 70), (33, 2), (2, 17), (16, 16), (5, 0)]
PAIRS = [Pair(*(RNG.integers(3, 99, length).tolist() for length in own)) for own in LENGTHS]
PAIRS.append(Pair([3] * 20, [98] * 16))


def test_each_pair_is_in_one_batch_and_whole():
    seen = []
    for indices, source, target in pair_batches(PAIRS, longest=70, tokens_per_batch=512):
        assert source.shape == target.shape
        rows, length = source.shape
        assert rows == 8 or rows * length <= 512
        assert length in (16, 32, 64, 70)
        for ids, side in ((source, "source"), (target, "target")):
            for row, own in zip(
                ids, [getattr(PAIRS[i], side) for i in indices] + [[]] * (rows - len(indices)), strict=True
            ):
                assert row.tolist() == own + [PAD_ID] * (length - len(own))
        seen += indices
    assert sorted(seen) == list(range(len(PAIRS)))


def test_a_side_that_is_too_long_is_refused_before_the_first_batch():
    batches = pair_batches(PAIRS, longest=69, tokens_per_batch=512)
    with pytest.raises(SequenceTooLongError, match="a sequence of 70 tokens"):
        next(batches)
