"""Batches of pairs of similar length, filled to a token budget, section 5.1.

"Sentence pairs were batched together by approximate sequence length. Each training batch contained a set of sentence
pairs containing approximately 25000 source tokens and 25000 target tokens." Every distinct shape costs a compilation,
so there are few of them; their lengths are those that pad least. Batch k of an epoch is a function of (seed, epoch, k):
a resumed run sees what the uninterrupted one would have seen.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Int32, Int64, Integer

from transformer_jax.data.corpus import CorpusError
from transformer_jax.data.encoded import EncodedCorpus, Sequences
from transformer_jax.special_ids import PAD_ID

_ROWS_MULTIPLE = 8  # so that the usual numbers of devices divide a batch


class Batch(NamedTuple):
    """Ids of both sides, padded with PAD_ID on the right; a row that holds no pair is all padding."""

    source: Int32[np.ndarray, "B S"]
    target: Int32[np.ndarray, "B T"]


def length_bounds(lengths: Integer[np.ndarray, " pairs"], num_shapes: int) -> tuple[int, ...]:
    """The at most `num_shapes` lengths, ascending, that pad least when each sequence is padded to the next of them.

    Exact, by dynamic programming over the distinct lengths: `least[j]` is the least number of positions, padding
    included, of the sequences up to the j-th length when that length is a bound, with one bound more in every round.
    """
    values, counts = np.unique(lengths, return_counts=True)
    if len(values) <= num_shapes:
        return tuple(int(value) for value in values)
    upto = np.concatenate([[0], np.cumsum(counts)])  # sequences shorter than the i-th length
    bucket = (upto[None, 1:] - upto[:-1, None]) * values[None, :]  # positions of a bucket that holds lengths i to j
    cost = np.where(np.tri(len(values), k=-1, dtype=bool), np.inf, bucket)
    least, choices = cost[0], []
    for _ in range(num_shapes - 1):
        before = np.concatenate([[np.inf], least[:-1]])[:, None] + cost
        choices.append(before.argmin(0))
        least = before.min(0)
    bounds, j = [], len(values) - 1
    for choice in [*reversed(choices), None]:
        bounds.append(int(values[j]))
        j = 0 if choice is None else int(choice[j]) - 1
    return tuple(reversed(bounds))


class _Cut(NamedTuple):
    """How pairs in bucket order are cut into batches: batch k holds the pairs `starts[k]` up to `starts[k + 1]`."""

    starts: Int64[np.ndarray, " batches_and_1"]
    shape_of: Int64[np.ndarray, " batches"]


def _cut(pairs_in: Integer[np.ndarray, " buckets"], rows: list[int]) -> _Cut:
    """Full batches of each bucket; what is left goes into the next larger one, so only the last batch can be short."""
    starts, shape_of, ends = [0], [], np.cumsum(pairs_in)
    for shape, end in enumerate(ends):
        full = (int(end) - starts[-1]) // rows[shape]
        shape_of += [shape] * full
        starts += [starts[-1] + rows[shape] * (n + 1) for n in range(full)]
    if starts[-1] < ends[-1]:
        shape_of.append(len(rows) - 1)
        starts.append(int(ends[-1]))
    return _Cut(np.array(starts, np.int64), np.array(shape_of, np.int64))


def _shapes(
    lengths: Integer[np.ndarray, " pairs"], tokens_per_batch: int, num_shapes: int
) -> tuple[tuple[int, int], ...]:
    """(rows, length) of each bucket: the multiple of 8 rows that fills the budget, and at least 8."""
    bounds = length_bounds(lengths, num_shapes)
    multiple = _ROWS_MULTIPLE
    return tuple((max(tokens_per_batch // bound // multiple, 1) * multiple, bound) for bound in bounds)


class BatchPlan:
    """Which pairs each training batch holds: every pair that is kept, exactly once an epoch.

    Each epoch, the pairs are permuted and dealt into buckets by their longer side; each bucket is cut into full
    batches, the remainder going into the next larger bucket; and the order of the batches is permuted. So an epoch has
    the same number of batches of each shape as any other, and one batch of it at most is not full.

    Attributes:
        shapes: (rows, length) of each bucket, ascending in length; both sides of a batch are padded to that length.
        steps_per_epoch: the batches of an epoch.
        num_pairs, num_too_long, num_empty: pairs kept, dropped for a side over `max_length`, and for an empty side.

    Raises:
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
        longer = np.maximum(source_lengths, target_lengths)
        empty = np.minimum(source_lengths, target_lengths) <= 1  # the end token alone
        kept = ~empty & (longer <= max_length)
        self.num_empty = int(empty.sum())
        self.num_too_long = int((~empty & (longer > max_length)).sum())
        self.num_pairs = int(kept.sum())
        if not self.num_pairs:
            raise CorpusError(
                f"no training pair is left of {len(longer)}: {self.num_empty} have an empty side, "
                f"{self.num_too_long} a side longer than {max_length} tokens"
            )
        self._pairs = np.flatnonzero(kept)
        self.shapes = _shapes(longer[kept], tokens_per_batch, num_shapes)
        bounds = [length for _, length in self.shapes]
        self._bucket_of = np.searchsorted(bounds, longer[kept]).astype(np.uint16)
        pairs_in = np.bincount(self._bucket_of, minlength=len(bounds))
        self._starts, self._shape_of = _cut(pairs_in, [rows for rows, _ in self.shapes])
        self.steps_per_epoch = len(self._shape_of)
        self._seed = seed
        self._epoch: tuple[int, np.ndarray, np.ndarray] | None = None

    def batch_indices(self, step: int) -> Int64[np.ndarray, " rows"]:
        """The pairs of the batch at 0-based `step`, counted over all epochs."""
        pairs, k = self._locate(step)
        return pairs[self._starts[k] : self._starts[k + 1]]

    def batch_shape(self, step: int) -> tuple[int, int]:
        """(rows, length) of the batch at 0-based `step`."""
        return self.shapes[self._shape_of[self._locate(step)[1]]]

    def batch(self, encoded: EncodedCorpus, step: int) -> Batch:
        """The padded batch at 0-based `step`."""
        return make_batch(encoded, self.batch_indices(step), *self.batch_shape(step))

    def _locate(self, step: int) -> tuple[Int64[np.ndarray, " pairs"], int]:
        """The epoch's pairs in bucket order, and which batch of them `step` is."""
        epoch, k = divmod(step, self.steps_per_epoch)
        arranged = self._epoch
        if arranged is None or arranged[0] != epoch:
            self._epoch = arranged = (epoch, *self._arrange(epoch))
        _, pairs, batches = arranged
        return pairs, int(batches[k])

    def _arrange(self, epoch: int) -> tuple[Int64[np.ndarray, " pairs"], Int64[np.ndarray, " batches"]]:
        generator = np.random.default_rng((self._seed, epoch))
        order = generator.permutation(self.num_pairs)
        order = order[np.argsort(self._bucket_of[order], kind="stable")]
        return self._pairs[order], generator.permutation(self.steps_per_epoch)


def make_batch(encoded: EncodedCorpus, indices: Integer[np.ndarray, " pairs"], rows: int, length: int) -> Batch:
    """The pairs `indices`, in order, padded to `rows` rows of `length` ids.

    Raises:
        ValueError: there are more pairs than rows, or a pair longer than `length`.
    """
    if len(indices) > rows:
        raise ValueError(f"{len(indices)} pairs do not fit into {rows} rows")
    return Batch(_pad(encoded.sources, indices, rows, length), _pad(encoded.targets, indices, rows, length))


def _pad(
    sequences: Sequences, indices: Integer[np.ndarray, " pairs"], rows: int, length: int
) -> Int32[np.ndarray, "B L"]:
    starts, ends = sequences.offsets[indices], sequences.offsets[np.asarray(indices) + 1]
    if len(indices) and (longest := int((ends - starts).max())) > length:
        raise ValueError(f"a sequence of {longest} tokens does not fit into a batch of length {length}")
    positions = starts[:, None] + np.arange(length)
    held = positions < ends[:, None]
    padded = np.full((rows, length), PAD_ID, np.int32)
    padded[: len(indices)][held] = sequences.ids[positions[held]]
    return padded


def evaluation_batches(
    encoded: EncodedCorpus, *, tokens_per_batch: int, num_shapes: int
) -> Iterator[tuple[Int64[np.ndarray, " pairs"], Batch]]:
    """Every pair once, shortest first, none dropped: yields the pairs' indices and their batch, in the same order."""
    longer = np.maximum(encoded.source_lengths, encoded.target_lengths)
    shapes = _shapes(longer, tokens_per_batch, num_shapes)
    pairs_in = np.bincount(np.searchsorted([length for _, length in shapes], longer), minlength=len(shapes))
    starts, shape_of = _cut(pairs_in, [rows for rows, _ in shapes])
    order = np.argsort(longer, kind="stable")
    for k, shape in enumerate(shape_of):
        indices = order[starts[k] : starts[k + 1]]
        yield indices, make_batch(encoded, indices, *shapes[shape])
