"""Sentence pairs as text: parallel files, tab-separated files, TensorFlow Datasets, the built-in corpus.

A line ends at "\\n" and nowhere else. U+0085, U+2028 and their like occur inside real sentences (newstest2009), and
splitting there puts every later pair out of step.
"""

import functools
import gzip
import hashlib
import importlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer_jax.config import CorpusSource
from transformer_jax.errors import UserError

_TABLE_SUFFIXES = (".tsv", ".txt", ".tsv.gz", ".txt.gz")


class CorpusError(UserError):
    """A corpus that cannot be read: the message names the file and, where there is one, the line."""


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


def read_corpus(source: CorpusSource, *, directory: str, source_language: str, target_language: str) -> Corpus:
    """Reads all pairs of `source`, in order.

    Args:
        source: two paths (source, target), one line a sentence; one .tsv or .txt path, source TAB target, further
            columns ignored; "tfds:builder/config:split"; or "builtin:split". Files that end in .gz are compressed.
        directory: where relative paths start; "" is the current directory.
        source_language: with `target_language`, the direction in TFDS and the built-in corpus, as in "en", "de".

    Raises:
        CorpusError: a file is missing, damaged, not UTF-8 or empty; the sides differ in length; a data set or language
            is unknown.
    """
    if not isinstance(source, str):
        return _read_parallel(*(_resolve(directory, path) for path in source))
    if source.startswith("tfds:"):
        return _read_tfds(source, source_language, target_language)
    if source.startswith("builtin:"):
        return _read_builtin(source, source_language, target_language)
    if source.endswith(_TABLE_SUFFIXES):
        return _read_table(_resolve(directory, source))
    raise CorpusError(
        f"corpus {source!r}: must be two paths, one path ending in {', '.join(_TABLE_SUFFIXES)}, "
        '"tfds:builder/config:split" or "builtin:split"'
    )


def _resolve(directory: str, path: str) -> Path:
    return Path(directory).expanduser() / Path(path).expanduser()


def _read_parallel(source_path: Path, target_path: Path) -> Corpus:
    sources, targets = _read_lines(source_path), _read_lines(target_path)
    if len(sources) != len(targets):
        raise CorpusError(
            f"{source_path} has {len(sources)} lines but {target_path} has {len(targets)}: must be parallel"
        )
    return Corpus(f"{source_path} and {target_path}", sources, targets)


def _read_table(path: Path) -> Corpus:
    rows = [line.split("\t", 2) for line in _read_lines(path)]
    for number, row in enumerate(rows, start=1):
        if len(row) < 2:
            raise CorpusError(f"{path}, line {number}: no tab; each line must be source TAB target")
    return Corpus(str(path), [row[0] for row in rows], [row[1] for row in rows])


def _read_lines(path: Path) -> list[str]:
    data = _read_bytes(path)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CorpusError(f"{path}, line {line}: not UTF-8 ({error.reason})") from error
    if not text:
        return []
    return text.removesuffix("\n").split("\n")


def _read_bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if path.suffix == ".gz" else data
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CorpusError(f"{path}: damaged gzip file ({error})") from error
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror}") from error


def _read_builtin(source: str, source_language: str, target_language: str) -> Corpus:
    split = source.removeprefix("builtin:")
    if split not in ("train", "dev", "test"):
        raise CorpusError(f"corpus {source!r}: the split must be train, dev or test")
    builtin = importlib.import_module("transformer_jax.data.builtin")
    pairs = builtin.builtin_pairs(source_language, target_language, split)
    return Corpus(source, [pair[0] for pair in pairs], [pair[1] for pair in pairs])


def _read_tfds(source: str, source_language: str, target_language: str) -> Corpus:
    _, name, split = source.split(":", 2) if source.count(":") >= 2 else ("", "", "")
    if not (name and split):
        raise CorpusError(f'corpus {source!r}: must be "tfds:builder/config:split"')
    examples = _tfds_examples(source, name, split)
    languages = sorted(examples.dataset_info.features)
    for language in (source_language, target_language):
        if language not in languages:
            raise CorpusError(f"{source}: has no language {language!r}, only {', '.join(languages)}")
    pairs = [(_as_text(pair[source_language]), _as_text(pair[target_language])) for pair in examples]
    return Corpus(source, [pair[0] for pair in pairs], [pair[1] for pair in pairs])


def _tfds_examples(source: str, name: str, split: str) -> Any:
    """A random-access TFDS data source, downloaded if need be; needs no TensorFlow."""
    import tensorflow_datasets  # here, because it takes a second that no other corpus should cost

    try:
        # Without TensorFlow, TFDS knows a translation data set only once the module that defines it is imported.
        module = name.split("/")[0].removesuffix("_translate")
        importlib.import_module(f"tensorflow_datasets.translate.{module}")
        return tensorflow_datasets.data_source(name, split=split)
    # TFDS has no common base for its errors: unknown names, failed downloads and full disks each raise their own.
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).split("\n")[0]
        raise CorpusError(f"{source}: TensorFlow Datasets cannot provide it: {reason}") from error


def _as_text(value: str | bytes) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else value
