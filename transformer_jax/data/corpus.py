"""Sentence pairs as text, from files, TensorFlow Datasets, the built-in corpus or treebanks: a stream, or in memory."""

import functools
import hashlib
import importlib
import importlib.metadata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer_jax.config import CorpusSource, Data, Trees, corpus_parts
from transformer_jax.data.text_files import (
    CorpusError,
    file_identity,
    parallel_pairs,
    parse_table,
    resolve,
    table_pairs,
)
from transformer_jax.data.tfds_pairs import open_tfds, tfds_identity, tfds_pairs
from transformer_jax.data.tree_pairs import PREFIX, tree_pairs, trees_identity

__all__ = ["Corpus", "CorpusError", "Reading", "read_corpus", "read_pairs", "source_identity"]

Pairs = Iterator[tuple[str, str]]
_NOT_FILES = ("tfds:", "builtin:", "trees:builtin:")


@dataclass(frozen=True)
class Reading:
    """What it takes, beside its name, to read a corpus."""

    directory: str  # where relative paths start; "" is the current directory
    source_language: str  # with the target's, the direction in TFDS and the built-in corpus, as in "en", "de"
    target_language: str
    trees: Trees  # how trees become pairs

    @classmethod
    def of(cls, data: Data, trees: Trees) -> "Reading":
        return cls(data.directory, data.source_language, data.target_language, trees)


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs: `sources[i]` and `targets[i]` say the same in two languages."""

    name: str  # for messages
    sources: Sequence[str]
    targets: Sequence[str]

    def __post_init__(self) -> None:
        if len(self.sources) != len(self.targets):
            raise CorpusError(f"{self.name}: {len(self.sources)} sources but {len(self.targets)} targets")
        if not self.sources:
            raise CorpusError(f"{self.name}: holds no sentence pairs")

    def __len__(self) -> int:
        return len(self.sources)

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 of both sides' text, in hexadecimal, wherever it was read from."""
        digest = hashlib.sha256()
        for side in (self.sources, self.targets):
            digest.update(f"{len(side)}\n".encode())
            for sentence in side:
                digest.update(sentence.encode() + b"\n")
        return digest.hexdigest()


def read_corpus(source: CorpusSource, reading: Reading) -> Corpus:
    """All pairs of `source`, in memory. Arguments and errors are those of `read_pairs`; no pairs are an error too."""
    pairs = list(read_pairs(source, reading))
    name = " + ".join(_name(part, reading.directory) for part in _parts(source))
    return Corpus(name, [pair[0] for pair in pairs], [pair[1] for pair in pairs])


def read_pairs(source: CorpusSource, reading: Reading, *, start: int = 0) -> Pairs:
    """The pairs of all parts of `source`, one part after another, read as they are asked for.

    Args:
        source: one part or several. A part is two paths (source, target), one line a sentence; one .tsv or .txt path,
            source TAB target, further columns ignored, with columns and a share if wanted (see `parse_table`);
            "tfds:builder/config:split"; "builtin:split"; or "trees:PATH", a file or folder of bracket files (see
            `tree_pairs`). Files that end in .gz are compressed, and "archive.zip/member" is a file inside an archive.
        start: the number of the first pair wanted, from 0. TFDS goes there at once; other parts are read up to it.

    Raises:
        CorpusError: a file is missing, damaged or not UTF-8; the sides differ in length; a data set or language is
            unknown. What is wrong late in a file is found when the reading gets there.
        TreeError: what stands in a bracket file is no tree.
    """
    languages = {"source_language": reading.source_language, "target_language": reading.target_language}
    for part in _parts(source):
        if part[0].startswith("tfds:"):
            examples = open_tfds(part[0], **languages)
            yield from tfds_pairs(part[0], examples, start=start, **languages)
            start = max(0, start - len(examples))
            continue
        for pair in _other_pairs(part, reading):
            if start:
                start -= 1
            else:
                yield pair


def source_identity(source: CorpusSource, reading: Reading) -> list[Any]:
    """What stays the same as long as the pairs do, in JSON's types, found without reading the text.

    Of a file: its path, size and time of change. Of a TFDS data set, which this downloads if need be: its version, size
    and number of examples. Of the built-in corpus: the programs that make it. Of trees: each file, and the settings.

    Raises:
        CorpusError: a file is missing, a data set cannot be provided, or a part is none of the kinds.
    """
    identities = [_identity(part, reading) for part in _parts(source)]
    return [reading.source_language, reading.target_language, *identities]


def _parts(source: CorpusSource) -> tuple[tuple[str, ...], ...]:
    parts = corpus_parts(source)
    for part in parts:
        kinds, ends = (*_NOT_FILES, PREFIX), (".tsv", ".tsv.gz", "]")
        whole = [path for path in part if path.startswith(kinds) or path.endswith(ends)]
        if len(part) == 2 and whole:
            raise CorpusError(
                f"corpus {part}: two strings are one file a language, but {whole[0]!r} holds both; "
                f"for two parts write {tuple((path,) for path in part)}"
            )
    return parts


def _identity(part: tuple[str, ...], reading: Reading) -> list[Any]:
    if part[0].startswith("tfds:"):
        return [part[0], *tfds_identity(open_tfds(part[0], reading.source_language, reading.target_language))]
    if part[0].startswith("builtin:"):
        return [_builtin_split(part[0]), *_builtin_identity()]
    if part[0].startswith(PREFIX):
        return trees_identity(part[0], reading.directory, reading.trees)
    return [*part, *(file_identity(path) for path in _paths(part, reading.directory))]


def _builtin_identity() -> list[str]:
    files = [Path(__file__).with_name(name) for name in ("builtin.py", "phrases.py")]
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("Babel", "num2words")]
    return [*(hashlib.sha256(file.read_bytes()).hexdigest() for file in files), *versions]


def _other_pairs(part: tuple[str, ...], reading: Reading) -> Pairs:
    if part[0].startswith("builtin:"):
        return _builtin_pairs(part[0], reading.source_language, reading.target_language)
    if part[0].startswith(PREFIX):
        return tree_pairs(part[0], reading.directory, reading.trees)
    if len(part) == 2:
        return parallel_pairs(*_paths(part, reading.directory))
    return table_pairs(parse_table(part[0], reading.directory))


def _paths(part: tuple[str, ...], directory: str) -> list[Path]:
    """The one or two files of a part."""
    if len(part) == 2:
        return [resolve(directory, path) for path in part]
    return [parse_table(part[0], directory).path]


def _name(part: tuple[str, ...], directory: str) -> str:
    if part[0].startswith(_NOT_FILES):
        return part[0]
    return " and ".join(str(resolve(directory, path.removeprefix(PREFIX))) for path in part)


def _builtin_pairs(source: str, source_language: str, target_language: str) -> Pairs:
    builtin = importlib.import_module("transformer_jax.data.builtin")
    return iter(builtin.builtin_pairs(source_language, target_language, _builtin_split(source)))


def _builtin_split(source: str) -> str:
    split = source.removeprefix("builtin:")
    if split not in ("train", "dev", "test"):
        raise CorpusError(f"corpus {source!r}: the split must be train, dev or test")
    return split
