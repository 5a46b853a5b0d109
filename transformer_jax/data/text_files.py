"""Sentence pairs in text files, read as a stream: parallel files and tables, plain, gzip or inside a zip archive.

A line ends at "\\n" and nowhere else. U+0085, U+2028 and their like occur inside real sentences (newstest2009), and
splitting there puts every later pair out of step. All else, "\\r" and a byte order mark included, is text and stays.
Memory holds one line a file, whatever the file's size.
"""

import contextlib
import gzip
import hashlib
import io
import itertools
import re
import textwrap
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer_jax.errors import UserError

TABLE_SUFFIXES = (".tsv", ".txt", ".tsv.gz", ".txt.gz")
_BUFFER_BYTES = 1 << 18
_TABLE = re.compile(r"(?P<path>.+\.(?:tsv|txt)(?:\.gz)?)(?P<options>\[.*)?", re.DOTALL)
_OPTIONS = re.compile(r"(?:\[([1-9]\d?),([1-9]\d?)\])?(?:\[(\d{1,3})%:(\d{1,3})%\])?", re.ASCII)
_KINDS = (
    f'must be two paths, one path ending in {", ".join(TABLE_SUFFIXES)}, "tfds:builder/config:split", "builtin:split" '
    'or "trees:PATH"'
)
_OPTIONS_RULE = (
    "a table's path may end in columns as in [2,1] (source, target; from 1) and in a share as in [0%:96%] "
    "(from 0 to 100, not empty), in this order"
)


class CorpusError(UserError):
    """A corpus that cannot be read: the message names the file and, where there is one, the line."""


def resolve(directory: str, path: str) -> Path:
    """A path that starts at `directory`; "" is the current directory, "~" the user's home."""
    return Path(directory).expanduser() / Path(path).expanduser()


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a file, without their "\\n".

    Args:
        path: a file, or a member of a zip archive as in "archive.zip/folder/member"; ".gz" at the end: compressed.

    Raises:
        CorpusError: the file is missing or damaged, or a line is not UTF-8.
    """
    try:
        with _opened(path) as file:
            for number, line in enumerate(file, start=1):
                try:
                    text = line.decode("utf-8")
                except UnicodeDecodeError as error:
                    raise CorpusError(f"{path}, line {number}: not UTF-8 ({error.reason})") from error
                yield text.removesuffix("\n")
    except (gzip.BadGzipFile, EOFError, zlib.error, zipfile.BadZipFile) as error:
        kind = "zip archive" if _archive(path) else "gzip file"
        raise CorpusError(f"{path}: damaged {kind} ({error})") from error
    except OSError as error:
        raise CorpusError(f"{error.filename or path}: {error.strerror or error}") from error


def parallel_pairs(source_path: Path, target_path: Path) -> Iterator[tuple[str, str]]:
    """Line i of one file with line i of the other.

    Raises:
        CorpusError: as `read_lines`; or, at the end, one file has more lines.
    """
    sources, targets = read_lines(source_path), read_lines(target_path)
    for pairs, (source, target) in enumerate(itertools.zip_longest(sources, targets)):
        if source is None or target is None:
            more = pairs + 1 + sum(1 for _ in (targets if source is None else sources))
            counts = (pairs, more) if source is None else (more, pairs)
            raise CorpusError(
                f"{source_path} has {counts[0]} lines but {target_path} has {counts[1]}: must be parallel"
            )
        yield source, target


@dataclass(frozen=True)
class Table:
    """A file of tab-separated columns, and which of it is wanted."""

    path: Path
    source_column: int  # from 0, as the next
    target_column: int
    share: range  # within 0..99: the pairs whose source sentence has its `hundredth` in here


def parse_table(text: str, directory: str) -> Table:
    """From "PATH", "PATH[2,1]" (source and target column, from 1) or "PATH[0%:96%]" (a share), or both in this order.

    Shares that have no number in common have no source sentence in common, and shares that cover 0 to 100 cover the
    file: with [0%:96%], [96%:98%] and [98%:100%], no sentence is on two sides of a split, however often it occurs.

    Raises:
        CorpusError: what follows the path is neither.
    """
    if not (match := _TABLE.fullmatch(text)):
        raise CorpusError(f"corpus {text!r}: {_KINDS}")
    options = _OPTIONS.fullmatch(match["options"] or "")
    given = options.groups() if options else ("0",) * 4
    source, target, first, last = (int(n or default) for n, default in zip(given, (1, 2, 0, 100), strict=True))
    if source == target or not first < last <= 100:
        raise CorpusError(f"corpus {text!r}: {_OPTIONS_RULE}")
    return Table(resolve(directory, match["path"]), source - 1, target - 1, range(first, last))


def hundredth(sentence: str) -> int:
    """A number from 0 to 99, the same for equal sentences on every machine, about evenly spread."""
    return int.from_bytes(hashlib.blake2b(sentence.encode(), digest_size=8).digest(), "big") % 100


def table_pairs(table: Table) -> Iterator[tuple[str, str]]:
    """The pairs of the table's share, in the file's order; further columns are ignored.

    Raises:
        CorpusError: as `read_lines`; or a line, in the share or not, has too few columns.
    """
    source_column, target_column, share = table.source_column, table.target_column, table.share
    last = max(source_column, target_column)
    for number, line in enumerate(read_lines(table.path), start=1):
        row = line.split("\t", last + 1)
        if len(row) <= last:
            raise CorpusError(f"{table.path}, line {number}: no tab before column {last + 1}; tabs divide columns")
        if len(share) == 100 or hundredth(row[source_column]) in share:
            yield row[source_column], row[target_column]


def file_identity(path: Path) -> list[str | int]:
    """Path, bytes and time of the last change (ns), without reading; of the archive, for a member of one.

    Raises:
        CorpusError: there is no such file.
    """
    archive = _archive(path)
    try:
        state = (archive or path).stat()
    except OSError as error:
        raise CorpusError(f"{archive or path}: {error.strerror}") from error
    return [str(path.resolve()), state.st_size, state.st_mtime_ns]


def _archive(path: Path) -> Path | None:
    return next((parent for parent in path.parents if parent.suffix == ".zip" and not parent.is_dir()), None)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader]:
    """The file's bytes, decompressed as they are read."""
    with contextlib.ExitStack() as stack:
        if archive := _archive(path):
            zipped = stack.enter_context(zipfile.ZipFile(archive))
            file: Any = stack.enter_context(_member(zipped, archive, path))
        else:
            file = stack.enter_context(path.open("rb", buffering=0))
        if path.suffix == ".gz":
            file = stack.enter_context(gzip.GzipFile(fileobj=file))
        # GzipFile and zip members find line ends in Python; this one does in C.
        yield io.BufferedReader(file, _BUFFER_BYTES)


def _member(zipped: zipfile.ZipFile, archive: Path, path: Path) -> Any:
    name, names = path.relative_to(archive).as_posix(), zipped.namelist()
    if name not in names:
        listed = textwrap.shorten(", ".join(names), 500, placeholder=" ...")
        raise CorpusError(f"{archive}: has no member {name!r}, only {listed}")
    try:
        return zipped.open(name)
    except (NotImplementedError, RuntimeError) as error:  # an unknown compression; a password
        raise CorpusError(f"{path}: {error}") from error
