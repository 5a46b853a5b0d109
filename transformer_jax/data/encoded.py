"""A corpus as ids, on disk and memory-mapped: encoded once, then shared by every run with the same text and vocabulary.

Each side is one flat array of ids and one of offsets, so that a batch is gathered without a loop over sentences.
"""

import hashlib
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sentencepiece
from jaxtyping import Int32, Int64, Integer

from transformer_jax.data.corpus import Corpus
from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.special_ids import EOS_ID

_FORMAT = 1
_FILES = ("source_ids", "source_offsets", "target_ids", "target_offsets")
_CHUNK = 20_000  # sentences encoded at a time: bounds memory, keeps all cores busy


@dataclass(frozen=True)
class Sequences:
    """Id sequences end to end: sequence i is `ids[offsets[i]:offsets[i + 1]]`."""

    ids: Integer[np.ndarray, " total"]
    offsets: Int64[np.ndarray, " count_and_1"]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> Int32[np.ndarray, " length"]:
        start, end = self.offsets[i : i + 2]
        return self.ids[start:end].astype(np.int32)

    @property
    def lengths(self) -> Int64[np.ndarray, " count"]:
        return np.diff(self.offsets)


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
    def source_lengths(self) -> Int64[np.ndarray, " pairs"]:
        """In tokens, with the end token."""
        return self.sources.lengths

    @property
    def target_lengths(self) -> Int64[np.ndarray, " pairs"]:
        """In tokens, with the end token."""
        return self.targets.lengths


def encode_sentences(sentences: Sequence[str], vocabulary: Vocabulary) -> Sequences:
    """Encodes and ends each sentence with EOS_ID, in memory; uint16 where every id fits, else int32."""
    dtype = np.uint16 if vocabulary.size <= 2**16 else np.int32
    chunks: list[np.ndarray] = []
    lengths: list[int] = []
    for start in range(0, len(sentences), _CHUNK):
        encoded = vocabulary.encode_all(list(sentences[start : start + _CHUNK]))
        chunks.append(np.fromiter(_ended(encoded), dtype))
        lengths.extend(len(ids) + 1 for ids in encoded)
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return Sequences(np.concatenate([*chunks, np.empty(0, dtype)]), offsets.astype(np.int64))


def _ended(sequences: Iterable[list[int]]) -> Iterator[int]:
    for ids in sequences:
        yield from ids
        yield EOS_ID


def encode_corpus(corpus: Corpus, vocabulary: Vocabulary, cache_directory: Path) -> EncodedCorpus:
    """The ids of `corpus`, from the cache where it has them undamaged, else encoded and cached.

    The cache entry appears whole or not at all, also when the process is killed or another one encodes the same corpus.
    """
    fingerprint = {
        "format": _FORMAT,
        "corpus": corpus.fingerprint,
        "vocabulary": vocabulary.fingerprint,
        "sentencepiece": sentencepiece.__version__,
        "pairs": len(corpus),
    }
    key = hashlib.sha256(json.dumps(fingerprint, sort_keys=True).encode()).hexdigest()[:24]
    entry = Path(cache_directory) / f"encoded-{key}"
    cached = _load(entry, fingerprint)
    if cached is None:
        sides = (encode_sentences(side, vocabulary) for side in (corpus.sources, corpus.targets))
        _save(EncodedCorpus(*sides), entry, fingerprint)
        cached = _load(entry, fingerprint)
    if cached is None:
        raise ValueError(f"{entry}: the encoded corpus just written there cannot be read back")
    return cached


def _load(entry: Path, fingerprint: dict) -> EncodedCorpus | None:
    """The cached corpus; None if it is absent, damaged or another one's."""
    try:
        found = json.loads((entry / "fingerprint.json").read_text())
        arrays = [np.load(entry / f"{name}.npy", mmap_mode="r") for name in _FILES]
        checksums = [zlib.crc32(array.data) for array in arrays]
    except (OSError, EOFError, ValueError):
        return None
    if found != {**fingerprint, "checksums": checksums}:
        return None
    # Plain views of the maps: np.memmap's own indexing is several times slower.
    source_ids, source_offsets, target_ids, target_offsets = (array.view(np.ndarray) for array in arrays)
    return EncodedCorpus(Sequences(source_ids, source_offsets), Sequences(target_ids, target_offsets))


def _save(encoded: EncodedCorpus, entry: Path, fingerprint: dict) -> None:
    entry.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=entry.parent, prefix=f".{entry.name}."))
    try:
        sides = (encoded.sources, encoded.targets)
        arrays = [array for side in sides for array in (side.ids, side.offsets)]
        for name, array in zip(_FILES, arrays, strict=True):
            np.save(temporary / f"{name}.npy", array)
        checksums = [zlib.crc32(array.data) for array in arrays]
        (temporary / "fingerprint.json").write_text(
            json.dumps({**fingerprint, "checksums": checksums}, indent=2) + "\n"
        )
        temporary.chmod(0o755)  # temporary directories are the owner's alone
        _put_in_place(temporary, entry, fingerprint)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _put_in_place(temporary: Path, entry: Path, fingerprint: dict) -> None:
    try:
        os.replace(temporary, entry)
    except OSError:
        # The entry exists: another process finished first, or it is a damaged one.
        if _load(entry, fingerprint) is None:
            shutil.rmtree(entry)
            os.replace(temporary, entry)
