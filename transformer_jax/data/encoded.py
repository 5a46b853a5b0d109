"""Sentence pairs as ids, in memory or in memory-mapped shards: of a corpus on disk, only what a batch holds is read."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from jaxtyping import Int32, Int64, Integer

from transformer_jax.data.ragged import Ragged
from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.special_ids import EOS_ID, PAD_ID

_CHUNK = 20_000  # sentences encoded at a time: their lists of ids take more memory than the arrays


@dataclass(frozen=True)
class Sequences:
    """The ids of one side of a corpus, shard after shard."""

    shards: tuple[Ragged, ...]

    @classmethod
    def of(cls, ids: Integer[np.ndarray, " total"], offsets: Int64[np.ndarray, " count_and_1"]) -> "Sequences":
        """One shard, in which sequence i is `ids[offsets[i]:offsets[i + 1]]`."""
        return cls((Ragged(ids, offsets),))

    @functools.cached_property
    def _firsts(self) -> Int64[np.ndarray, " shards_and_1"]:
        """Which sequence of the whole each shard begins with, and their number."""
        return np.cumsum([0, *map(len, self.shards)], dtype=np.int64)

    def __len__(self) -> int:
        return int(self._firsts[-1])

    def __getitem__(self, i: int) -> Int32[np.ndarray, " length"]:
        if not 0 <= i < len(self):
            raise IndexError(f"sequence {i} of {len(self)}")
        shard = int(np.searchsorted(self._firsts, i, side="right")) - 1
        return self.shards[shard][i - int(self._firsts[shard])].astype(np.int32)

    @functools.cached_property
    def lengths(self) -> Int32[np.ndarray, " count"]:
        return np.concatenate([shard.lengths.astype(np.int32) for shard in self.shards])

    def padded(
        self, indices: Integer[np.ndarray, " pairs"], rows: int, length: int
    ) -> Int32[np.ndarray, "rows length"]:
        """The sequences `indices`, in order, a row each, filled up with PAD_ID; so are the rows that are left.

        Raises:
          ValueError: there are more sequences than rows, or one longer than `length`.
        """
        if len(indices) > rows:
            raise ValueError(f"{len(indices)} pairs do not fit into {rows} rows")
        padded = np.full((rows, length), PAD_ID, np.int32)
        shard_of = np.searchsorted(self._firsts, indices, side="right") - 1
        places = (indices - self._firsts[shard_of]).tolist()
        for row, shard, i in zip(padded, shard_of.tolist(), places, strict=False):
            ids = self.shards[shard][i]
            if len(ids) > length:
                raise ValueError(f"a sequence of {len(ids)} tokens does not fit into a batch of length {length}")
            row[: len(ids)] = ids
        return padded


@dataclass(frozen=True)
class EncodedCorpus:
    """The ids of a corpus; every sequence ends with EOS_ID."""

    sources: Sequences
    targets: Sequences

    def __len__(self) -> int:
        return len(self.sources)

    def source(self, i: int) -> Int32[np.ndarray, " S"]:
        return self.sources[i]

    def target(self, i: int) -> Int32[np.ndarray, " T"]:
        return self.targets[i]

    @property
    def source_lengths(self) -> Int32[np.ndarray, " pairs"]:
        """In tokens, with the end token."""
        return self.sources.lengths

    @property
    def target_lengths(self) -> Int32[np.ndarray, " pairs"]:
        """In tokens, with the end token."""
        return self.targets.lengths


def encode_sentences(sentences: Sequence[str], vocabulary: Vocabulary) -> Ragged:
    """Encodes and ends each sentence with EOS_ID, in memory; uint16 where every id fits, else int32."""
    dtype = np.uint16 if vocabulary.size <= 2**16 else np.int32
    values, lengths = [np.empty(0, dtype)], []
    for start in range(0, len(sentences), _CHUNK):
        encoded = vocabulary.encode_all(list(sentences[start : start + _CHUNK]))
        values.append(np.fromiter(chain.from_iterable((*ids, EOS_ID) for ids in encoded), dtype))
        lengths += [len(ids) + 1 for ids in encoded]
    return Ragged(np.concatenate(values), np.cumsum([0, *lengths], dtype=np.int64))


def encode_pairs(sources: Sequence[str], targets: Sequence[str], vocabulary: Vocabulary) -> EncodedCorpus:
    """A corpus that is small enough to hold in memory, as a dev or test set is."""
    return EncodedCorpus(*(Sequences((encode_sentences(side, vocabulary),)) for side in (sources, targets)))
