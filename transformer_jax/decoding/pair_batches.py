"""Sources with their translations in batches, for who reads both at once: few shapes, the longest first."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32

from transformer_jax.decoding.source_batches import source_batches
from transformer_jax.model.embedding import require_length
from transformer_jax.special_ids import PAD_ID


class Pair(NamedTuple):
    """A source with its end token, and a target, with its own or, if it was cut off, without."""

    source: Sequence[int]
    target: Sequence[int]


class PairBatch(NamedTuple):
    """Both sides of some pairs, padded to one length, and which pairs they are; rows that are left hold none."""

    indices: list[int]
    source: Int32[np.ndarray, "B L"]
    target: Int32[np.ndarray, "B L"]


def pair_batches(pairs: Sequence[Pair], *, longest: int, tokens_per_batch: int) -> Iterator[PairBatch]:
    """Each pair in one batch of at most `tokens_per_batch` positions a side, or of the fewest rows that there are.

    Raises:
      SequenceTooLongError: a side is longer than `longest`; before the first batch.
    """
    for side in (side for pair in pairs for side in pair):
        require_length(len(side), longest)
    longer = [max(pair, key=len) for pair in pairs]
    for indices, ids in source_batches(longer, longest=longest, beam_size=1, tokens_per_batch=tokens_per_batch):
        source, target = (_padded([pairs[i][side] for i in indices], ids.shape) for side in (0, 1))
        yield PairBatch(indices, source, target)


def _padded(sequences: Sequence[Sequence[int]], shape: tuple[int, ...]) -> Int32[np.ndarray, "B L"]:
    ids = np.full(shape, PAD_ID, np.int32)
    for row, own in enumerate(sequences):
        ids[row, : len(own)] = own
    return ids
