"""Batches of pairs of similar length, filled to a token budget, section 5.1.

"Sentence pairs were batched together by approximate sequence length. Each training batch contained a set of sentence
pairs containing approximately 25000 source tokens and 25000 target tokens." Batch k of an epoch is a function of
(seed, epoch, k): a resumed run sees what the uninterrupted one would have seen, on any number of processes.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32, Int64, Integer, UInt32

from transformer_jax.data.corpus import CorpusError
from transformer_jax.data.encoded import EncodedCorpus
from transformer_jax.data.shapes import Shape, batch_shapes, first_that_holds


class Batch(NamedTuple):
    """Ids of both sides, padded with PAD_ID on the right; a row that holds no pair is all padding."""

    source: Int32[np.ndarray, "B S"]
    target: Int32[np.ndarray, "B T"]


class _Cut(NamedTuple):
    """How pairs in the order of their shapes are cut: batch k holds the pairs `starts[k]` up to `starts[k + 1]`."""

    starts: Int64[np.ndarray, " batches_and_1"]
    shape_of: Int64[np.ndarray, " batches"]


def _cut(pairs_in: list[int], shapes: tuple[Shape, ...]) -> _Cut:
    """Full batches of each shape; what is left goes into the next larger one, so only the last batch can be short."""
    starts, shape_of, ends = [0], [], np.cumsum(pairs_in)
    for shape, end in enumerate(ends):
        rows = shapes[shape][0]
        full = (int(end) - starts[-1]) // rows
        shape_of += [shape] * full
        starts += [starts[-1] + rows * (n + 1) for n in range(full)]
    if starts[-1] < ends[-1]:
        shape_of.append(len(shapes) - 1)
        starts.append(int(ends[-1]))
    return _Cut(np.array(starts, np.int64), np.array(shape_of, np.int64))


class BatchPlan:
    """Which pairs each training batch holds: every pair that is kept, exactly once an epoch.

    A pair belongs to the first shape that holds both its sides. Each epoch, the pairs of each shape are permuted and
    cut into full batches, the remainder going into the next larger shape; and the order of the batches is permuted. So
    an epoch has the same number of batches of each shape as any other, and one batch of it at most is not full.

    Attributes:
        shapes: (rows, S, T), ascending; rows of the longer side fill at most `tokens_per_batch` positions.
        steps_per_epoch: the batches of an epoch.
        num_pairs, num_too_long, num_empty: pairs kept, dropped for a side over `max_length`, and for an empty side.

    Raises:
        ValueError: a pair of `max_length` would not fit into `tokens_per_batch`.
        CorpusError: no pair is left.
    """

    def __init__(
        self,
        source_lengths: Integer[np.ndarray, " pairs"],
        target_lengths: Integer[np.ndarray, " pairs"],
        *,
        tokens_per_batch: int,
        num_shapes: int,
        seed: int,
        max_length: int,
    ):
        if max_length > tokens_per_batch:
            raise ValueError(f"max_length = {max_length}: must be at most tokens_per_batch = {tokens_per_batch}")
        empty = (source_lengths <= 1) | (target_lengths <= 1)  # the end token alone
        kept = ~empty & (source_lengths <= max_length) & (target_lengths <= max_length)
        self.num_pairs, self.num_empty = int(kept.sum()), int(empty.sum())
        self.num_too_long = len(kept) - self.num_pairs - self.num_empty
        if not self.num_pairs:
            raise CorpusError(
                f"no training pair is left of {len(kept)}: {self.num_empty} have an empty side, "
                f"{self.num_too_long} a side longer than {max_length} tokens"
            )
        self.shapes = batch_shapes(
            source_lengths[kept], target_lengths[kept], tokens_per_batch=tokens_per_batch, num_shapes=num_shapes
        )
        shape_of = first_that_holds(self.shapes, source_lengths, target_lengths)
        shape_of[~kept] = len(self.shapes)
        self._pairs, pairs_in = _by_shape(shape_of, len(self.shapes))
        self._ends = np.cumsum(pairs_in)
        self._starts, self._shape_of = _cut(pairs_in, self.shapes)
        self.steps_per_epoch = len(self._shape_of)
        self._seed = seed
        self._epoch: tuple[int, np.ndarray, np.ndarray] | None = None

    def batch_indices(self, step: int) -> UInt32[np.ndarray, " rows"]:
        """The pairs of the batch at 0-based `step`, counted over all epochs."""
        pairs, k = self._locate(step)
        return pairs[self._starts[k] : self._starts[k + 1]]

    def batch_shape(self, step: int) -> Shape:
        """(rows, S, T) of the batch at 0-based `step`."""
        return self.shapes[self._shape_of[self._locate(step)[1]]]

    def batch(self, encoded: EncodedCorpus, step: int, share: slice = slice(None)) -> Batch:
        """The padded batch at 0-based `step`, or a share of its rows, which alone are read."""
        rows, source, target = self.batch_shape(step)
        own = self.batch_indices(step)[share]
        return make_batch(encoded, own, (len(range(rows)[share]), source, target))

    def _locate(self, step: int) -> tuple[UInt32[np.ndarray, " pairs"], int]:
        """The epoch's pairs in the order of their shapes, and which batch of them `step` is."""
        epoch, k = divmod(step, self.steps_per_epoch)
        arranged = self._epoch
        if arranged is None or arranged[0] != epoch:
            self._epoch = arranged = (epoch, *self._arrange(epoch))
        _, pairs, batches = arranged
        return pairs, int(batches[k])

    def _arrange(self, epoch: int) -> tuple[UInt32[np.ndarray, " pairs"], Int64[np.ndarray, " batches"]]:
        generator = np.random.default_rng((self._seed, epoch))
        pairs = self._pairs.copy()
        for start, end in pairwise([0, *self._ends]):
            generator.shuffle(pairs[start:end])
        return pairs, generator.permutation(self.steps_per_epoch)


def _by_shape(
    shape_of: Integer[np.ndarray, " all_pairs"], num_shapes: int
) -> tuple[UInt32[np.ndarray, " pairs"], list[int]]:
    """The pairs of the first shape, then those of the second, and so on; and how many each has."""
    of_each = [np.flatnonzero(shape_of == shape).astype(np.uint32) for shape in range(num_shapes)]
    return np.concatenate(of_each), [len(pairs) for pairs in of_each]


def make_batch(encoded: EncodedCorpus, indices: Integer[np.ndarray, " pairs"], shape: Shape) -> Batch:
    """The pairs `indices`, in order, padded to `shape`.

    Raises:
        ValueError: there are more pairs than rows, or a side that is too long.
    """
    rows, source, target = shape
    return Batch(encoded.sources.padded(indices, rows, source), encoded.targets.padded(indices, rows, target))


def evaluation_batches(
    encoded: EncodedCorpus, *, tokens_per_batch: int, num_shapes: int
) -> Iterator[tuple[UInt32[np.ndarray, " pairs"], Batch]]:
    """Every pair once, in the order of their shapes, none dropped: yields the pairs' indices and their batch.

    A pair that is longer than `tokens_per_batch` is a batch of its own.
    """
    lengths = encoded.source_lengths, encoded.target_lengths
    shapes = batch_shapes(*lengths, tokens_per_batch=tokens_per_batch, num_shapes=num_shapes)
    pairs, pairs_in = _by_shape(first_that_holds(shapes, *lengths), len(shapes))
    starts, shape_of = _cut(pairs_in, shapes)
    for k, shape in enumerate(shape_of):
        indices = pairs[starts[k] : starts[k + 1]]
        yield indices, make_batch(encoded, indices, shapes[shape])
