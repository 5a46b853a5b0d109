"""Lines of text with their trees, round by round as they come."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from experiments.translation.input_lines import Line
from transformer_jax.decoding.parser import Parse, Parser
from transformer_jax.trees.tree import Tree


class ParsedLine(NamedTuple):
    """A line's tree, and what a person should know of it."""

    number: int  # from 1
    tree: Tree | None  # None: the line has no words
    problems: list[str]


def parsed_lines(rounds: Iterable[list[Line]], parser: Parser) -> Iterator[list[ParsedLine]]:
    """Round by round, in order."""
    first = 1
    for lines in rounds:
        parses = parser.parse([line.text for line in lines], first=first - 1)
        yield [
            ParsedLine(number, parse.tree, [*line.problems, *problems_of(parse)])
            for number, (line, parse) in enumerate(zip(lines, parses, strict=True), start=first)
        ]
        first += len(lines)


def problems_of(parse: Parse) -> list[str]:
    repairs = ", ".join(f"{count} {repair}" for repair, count in parse.repairs.items())
    return [*parse.translation.problems, *([f"needed repair: {repairs}"] if repairs else [])]
