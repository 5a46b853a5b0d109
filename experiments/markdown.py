"""Tables and lists in Markdown."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns of equal width, the first aligned left, the others right, so that it reads well in a terminal too."""
    cells = [_escaped(row) for row in (head, *rows)]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "".join(_line(row, widths) for row in (cells[0], rule, *cells[1:]))


def compact_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Without padding, for cells that are long."""
    lines = [_escaped(head), ["---"] * len(head), *map(_escaped, rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _escaped(row: Sequence[str]) -> list[str]:
    """A bar would end a cell."""
    return [cell.replace("|", r"\|") for cell in row]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(row, widths, strict=True)
    return "| " + " | ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]) + " |\n"


def listed(lines: Iterable[str]) -> str:
    return "".join(f"- {line}\n" for line in lines)
