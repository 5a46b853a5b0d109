"""The lines of a stream as they come, and beside them those of a file of prefixes."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from transformer_jax.data.text_files import read_lines
from transformer_jax.errors import UserError

_BYTES_AT_A_TIME = 1 << 20


class PrefixError(UserError):
    """There must be a prefix for each line."""


class Line(NamedTuple):
    """What a line holds, without its end."""

    text: str
    problems: list[str]


class Round(NamedTuple):
    """What is translated at a time."""

    lines: list[Line]
    prefixes: list[str] | None


def rounds(stream: BinaryIO, at_most: int) -> Iterator[list[Line]]:
    """As many lines as are there, but no more than `at_most`; waits only where there is none.

    Lines end at "\\n" and nowhere else; the last one's may be missing. No round is held back for what may still come: a
    terminal gives a line at a time, a pipe what its writer has put into it, a file a megabyte, which bounds the memory.
    """
    for lines in _arrivals(stream):
        remaining = iter(lines)
        while chunk := list(islice(remaining, at_most)):
            yield [_decoded(line) for line in chunk]


def with_prefixes(rounds: Iterable[list[Line]], path: Path | None) -> Iterator[Round]:
    """Line i of the file at `path` for line i of the stream; without a path, no prefixes.

    Raises:
      PrefixError: one has more lines than the other; said where it is found, which is at the end.
      CorpusError: the file cannot be read.
    """
    if path is None:
        yield from (Round(lines, None) for lines in rounds)
        return
    prefixes, total = read_lines(path), 0
    for lines in rounds:
        own = list(islice(prefixes, len(lines)))
        if len(own) < len(lines):
            raise PrefixError(f"{path} has {total + len(own)} lines, standard input has more: must be as many")
        total += len(own)
        yield Round(lines, own)
    if more := sum(1 for _ in prefixes):
        raise PrefixError(f"{path} has {total + more} lines, standard input has {total}: must be as many")


def _arrivals(stream: BinaryIO) -> Iterator[list[bytes]]:
    """The lines that are complete after each read."""
    begun: list[bytes] = []  # in parts, since joining a long line again at each read would take quadratic time
    while data := stream.read1(_BYTES_AT_A_TIME):  # type: ignore[attr-defined]
        first, *others = data.split(b"\n")
        begun.append(first)
        if others:
            yield [b"".join(begun), *others[:-1]]
            begun = [others[-1]]
    if last := b"".join(begun):
        yield [last]


def _decoded(line: bytes) -> Line:
    """What is not UTF-8 is told and replaced, and stops nothing."""
    try:
        return Line(line.decode(), [])
    except UnicodeDecodeError as error:
        return Line(line.decode(errors="replace"), [f"is not UTF-8 ({error.reason} at byte {error.start})"])
