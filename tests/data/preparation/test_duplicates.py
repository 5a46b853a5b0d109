"""Found as a set that has seen all pairs before would find them."""

import numpy as np
import pytest

from transformer_jax.data.preparation.duplicates import duplicates


def by_a_set(shards):
    seen, found = set(), []
    for row, digest in enumerate(tuple(digest) for shard in shards for digest in shard.tolist()):
        if digest in seen:
            found.append(row)
        seen.add(digest)
    return found


@pytest.mark.parametrize("at_a_time", [1, 5, 37, 10_000])
@pytest.mark.parametrize("distinct", [1, 3, 11])
def test_every_pair_but_the_first_of_its_kind(distinct, at_a_time):
    rng = np.random.default_rng(distinct)
    # The halves collide by themselves: only both together say which pair it is.
    shards = [rng.integers(0, distinct, (size, 2)).astype(np.uint64) for size in (23, 0, 41, 1)]
    assert duplicates(shards, at_a_time).tolist() == by_a_set(shards)


def test_large_digests_are_told_apart():
    top = 2**64 - 1
    shard = np.array([[top, 0], [top - 1, 0], [top, 1], [top, 0]], np.uint64)
    assert duplicates([shard]).tolist() == [3]


def test_nothing_has_no_duplicates():
    assert duplicates([np.empty((0, 2), np.uint64)]).tolist() == []
    assert duplicates([]).tolist() == []
