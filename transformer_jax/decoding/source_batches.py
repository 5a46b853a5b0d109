"""Sources in batches for decoding: of similar length, in few shapes, the longest first.

A batch is 16, 32, 64, ... positions long. It has as many rows as the token budget allows, or a quarter of these, or a
sixteenth, ...: with such shapes the search can also go on with the few sentences of a batch that take longer.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32

from transformer_jax.special_ids import PAD_ID

_SHORTEST = 16  # positions
_FEWEST_ROWS = 8
_FEWER = 4  # by what a number of rows is divided


class SourceBatch(NamedTuple):
    """Padded sources, and which ones they are; rows that are left hold none."""

    indices: list[int]
    ids: Int32[np.ndarray, "B S"]


def row_counts(length: int, beam_size: int, tokens_per_batch: int) -> list[int]:
    """The numbers of rows that batches of `length` positions may have, the largest first; all are multiples of 8."""
    most = tokens_per_batch // (length * beam_size) // _FEWEST_ROWS * _FEWEST_ROWS
    counts = [max(most, _FEWEST_ROWS)]
    while counts[-1] // _FEWER >= _FEWEST_ROWS:
        counts.append(counts[-1] // _FEWER // _FEWEST_ROWS * _FEWEST_ROWS)
    return counts


def rows_for(sentences: int, counts: Sequence[int]) -> int:
    """The smallest of `counts` that holds so many sentences; the largest if none does."""
    return min((count for count in counts if count >= sentences), default=counts[0])


def batch_length(length: int, longest: int) -> int:
    """The positions of the batch that a source of `length` tokens goes into; none are longer than `longest`."""
    positions = _SHORTEST
    while positions < length:
        positions *= 2
    return min(positions, longest)


def source_batches(
    sources: Sequence[Sequence[int]], *, longest: int, beam_size: int, tokens_per_batch: int
) -> Iterator[SourceBatch]:
    """Each source in one batch; the longest first: what does not fit in memory fails early."""
    waiting: dict[int, list[int]] = {}
    for i in sorted(range(len(sources)), key=lambda i: -len(sources[i])):
        waiting.setdefault(batch_length(len(sources[i]), longest), []).append(i)
    for length, indices in waiting.items():
        counts = row_counts(length, beam_size, tokens_per_batch)
        while indices:
            # Full batches, then the largest that the rest fills, and at last one that holds the rest.
            rows = next((count for count in counts if count <= len(indices)), counts[-1])
            own, indices = indices[:rows], indices[rows:]
            ids = np.full((rows, length), PAD_ID, np.int32)
            for row, i in enumerate(own):
                ids[row, : len(sources[i])] = sources[i]
            yield SourceBatch(own, ids)
