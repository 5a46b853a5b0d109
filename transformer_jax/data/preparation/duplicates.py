"""Pairs that came before in the same corpus: found from digests on disk, some at a time."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int64, UInt64

_AT_A_TIME = 4_000_000  # pairs sorted in memory, about


def duplicates(
    shards: Sequence[UInt64[np.ndarray, "_ 2"]], at_a_time: int = _AT_A_TIME
) -> Int64[np.ndarray, " duplicates"]:
    """The pairs, counted through all shards, whose digest an earlier pair has; ascending.

    Digests are looked at in as many passes as bound the memory, each of those that leave one remainder.
    """
    passes = -(-sum(map(len, shards)) // at_a_time) or 1
    found = [_of_remainder(shards, remainder, passes) for remainder in range(passes)]
    return np.sort(np.concatenate(found))


def _of_remainder(
    shards: Sequence[UInt64[np.ndarray, "_ 2"]], remainder: int, passes: int
) -> Int64[np.ndarray, " duplicates"]:
    rows, digests, first = [np.empty(0, np.int64)], [np.empty((0, 2), np.uint64)], 0
    for shard in shards:
        own = np.flatnonzero(shard[:, 0] % np.uint64(passes) == remainder)
        rows.append(own + first)
        digests.append(shard[own])
        first += len(shard)
    row, digest = np.concatenate(rows), np.concatenate(digests)
    order = np.lexsort((digest[:, 1], digest[:, 0]))  # stable: equal digests stay in the order of their rows
    row, digest = row[order], digest[order]
    return row[1:][(digest[1:] == digest[:-1]).all(1)]
