"""The few shapes that batches have, each of which costs a compilation, and the rows that fill each to the token budget.

A shape is (rows, S, T). The (S, T) are nested: both grow, or stay, from one shape to the next. So a pair has one place,
the first shape that holds both its sides, and what is left over of a shape fits into the next.
"""

import numpy as np
from jaxtyping import Int64, Integer, UInt8

Shape = tuple[int, int, int]  # (rows, S, T)

_CANDIDATES = 40  # lengths of a side that a shape can have
_ROWS_MULTIPLE = 8  # so that the usual numbers of devices divide a batch
_CHUNK = 2**20  # pairs counted at a time: their 64-bit indices take several times the memory of their lengths


def batch_shapes(
    source_lengths: Integer[np.ndarray, " pairs"],
    target_lengths: Integer[np.ndarray, " pairs"],
    *,
    tokens_per_batch: int,
    num_shapes: int,
) -> tuple[Shape, ...]:
    """At most `num_shapes` nested shapes, the smallest first; the last holds every pair."""
    chain = nested_lengths(source_lengths, target_lengths, num_shapes)
    return tuple((rows_of(max(sides), tokens_per_batch), *sides) for sides in chain)


def rows_of(length: int, tokens_per_batch: int) -> int:
    """The rows of `length` that the budget allows: a multiple of 8 where they are 8 or more, and at least 1."""
    rows = tokens_per_batch // length
    return max(rows if rows < _ROWS_MULTIPLE else rows - rows % _ROWS_MULTIPLE, 1)


def first_that_holds(
    shapes: tuple[Shape, ...],
    source_lengths: Integer[np.ndarray, " pairs"],
    target_lengths: Integer[np.ndarray, " pairs"],
) -> UInt8[np.ndarray, " pairs"]:
    """Which of the nested `shapes` each pair goes into; len(shapes) if none holds both its sides."""
    first = np.zeros(len(source_lengths), np.uint8)
    for _, source, target in shapes:
        first += (source_lengths > source) | (target_lengths > target)
    return first


def nested_lengths(
    source_lengths: Integer[np.ndarray, " pairs"], target_lengths: Integer[np.ndarray, " pairs"], num_shapes: int
) -> tuple[tuple[int, int], ...]:
    """At most `num_shapes` nested (S, T), ascending, that pad least when each pair goes into the first that holds it.

    Exact, by dynamic programming, over all nested (S, T) of candidate lengths, which are the at most 40 of each side
    that pad that side least. `least[j]` is the least number of positions of both sides, padding included, of the pairs
    that fit into the j-th (S, T) when that one is taken, with one more before it in every round.
    """
    sources, targets = (np.array(length_bounds(side, _CANDIDATES)) for side in (source_lengths, target_lengths))
    S, T = (grid.ravel() for grid in np.meshgrid(sources, targets, indexing="ij"))
    held = _pairs_in_cells(source_lengths, target_lengths, sources, targets).cumsum(0).cumsum(1).ravel()
    nested = (S[:, None] <= S) & (T[:, None] <= T)
    added = np.where(nested, (held - held[:, None]) * (S + T), np.inf)  # by the j-th, if the i-th is before it
    least, choices = held * (S + T), []
    for _ in range(min(num_shapes, len(sources) + len(targets) - 1) - 1):
        total = least[:, None] + added
        choices.append(total.argmin(0))
        least = total.min(0)
    chain = [len(S) - 1]
    for choice in reversed(choices):
        chain.append(int(choice[chain[-1]]))
    chain.reverse()
    used = np.diff(held[chain], prepend=0) > 0  # one that no pair goes into costs nothing, and is none
    return tuple((int(S[j]), int(T[j])) for j, use in zip(chain, used, strict=True) if use)


def _pairs_in_cells(
    source_lengths: Integer[np.ndarray, " pairs"],
    target_lengths: Integer[np.ndarray, " pairs"],
    sources: Integer[np.ndarray, " S"],
    targets: Integer[np.ndarray, " T"],
) -> Int64[np.ndarray, "S T"]:
    """How many pairs have the i-th of `sources` and the j-th of `targets` as the least that hold their sides."""
    counts = np.zeros(len(sources) * len(targets), np.int64)
    for start in range(0, len(source_lengths), _CHUNK):
        i = np.searchsorted(sources, source_lengths[start : start + _CHUNK])
        j = np.searchsorted(targets, target_lengths[start : start + _CHUNK])
        counts += np.bincount(i * len(targets) + j, minlength=len(counts))
    return counts.reshape(len(sources), len(targets))


def length_bounds(lengths: Integer[np.ndarray, " pairs"], num_bounds: int) -> tuple[int, ...]:
    """The at most `num_bounds` lengths, ascending, that pad least when each sequence is padded to the next of them.

    Exact, by dynamic programming over the distinct lengths: `least[j]` is the least number of positions, padding
    included, of the sequences up to the j-th length when that length is a bound, with one bound more in every round.
    """
    values, counts = np.unique(lengths, return_counts=True)
    if len(values) <= num_bounds:
        return tuple(int(value) for value in values)
    upto = np.concatenate([[0], np.cumsum(counts)])  # sequences shorter than the i-th length
    bucket = (upto[None, 1:] - upto[:-1, None]) * values[None, :]  # positions of a bucket that holds lengths i to j
    cost = np.where(np.tri(len(values), k=-1, dtype=bool), np.inf, bucket)
    least, choices = cost[0], []
    for _ in range(num_bounds - 1):
        before = np.concatenate([[np.inf], least[:-1]])[:, None] + cost
        choices.append(before.argmin(0))
        least = before.min(0)
    bounds, j = [], len(values) - 1
    for choice in [*reversed(choices), None]:
        bounds.append(int(values[j]))
        j = 0 if choice is None else int(choice[j]) - 1
    return tuple(reversed(bounds))
