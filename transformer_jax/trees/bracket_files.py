"""Penn Treebank bracket files: one tree or many, on one line each or on several, "( (S (NP ...) ...))" and the like.

Escaped brackets, -LRB- and -RRB-, are words like others and stay. Who reads the file divides it into lines at "\\n"
alone, see `data.text_files`.
"""

import re
from collections.abc import Iterable, Iterator

from transformer_jax.trees.tree import BLANKS, Tree, TreeError

_PARTS = re.compile(rf"[()]|[^(){BLANKS}]+")


class _Open:
    """A bracket that waits for its closing one."""

    def __init__(self, line: int):
        self.line = line
        self.names: list[str] = []  # its label, then its word
        self.children: list[Tree] = []

    def name(self, text: str) -> None:
        if self.children:
            raise TreeError(f"the word {text!r} stands beside a bracket")
        if len(self.names) == 2:
            raise TreeError(f"the words {self.names[1]!r} and {text!r} under one tag")
        self.names.append(text)

    def child(self, tree: Tree) -> None:
        if len(self.names) == 2:
            raise TreeError(f"the word {self.names[1]!r} stands beside a bracket")
        if not tree.label:
            raise TreeError("a bracket without a label inside another")
        self.children.append(tree)

    def tree(self) -> Tree:
        if len(self.names) < 2 and not self.children:
            raise TreeError(f"nothing in the bracket ({''.join(self.names)})")
        label, word = (*self.names, "", "")[:2]
        return Tree(label, tuple(self.children), None if self.children else word)


def parse_trees(lines: Iterable[str], name: str = "text") -> Iterator[Tree]:
    """The trees of a file's lines, each as soon as its last bracket is read.

    Args:
      name: of the file, for messages.

    Raises:
        TreeError: a closing bracket too many, a word outside of all brackets, a bracket with nothing or with words and
            brackets in it, or the end inside a tree: says the file and the line.
    """
    waiting: list[_Open] = []
    for number, line in enumerate(lines, start=1):
        try:
            yield from _closed(line, number, waiting)
        except TreeError as error:
            raise TreeError(f"{name}, line {number}: {error}") from error
    if waiting:
        raise TreeError(f"{name}: ends inside the tree that begins in line {waiting[0].line}")


def parse_tree(text: str) -> Tree:
    """The one tree of `text`.

    Raises:
        TreeError: as `parse_trees`; or there is no tree, or more than one.
    """
    trees = list(parse_trees([text]))
    if len(trees) != 1:
        raise TreeError(f"{len(trees)} trees instead of one: {text!r}")
    return trees[0]


def _closed(line: str, number: int, waiting: list[_Open]) -> Iterator[Tree]:
    """The trees that end in this line; `waiting` are the brackets open before it, then those after it."""
    for part in _PARTS.findall(line):
        if part == "(":
            waiting.append(_Open(number))
        elif not waiting:
            raise TreeError(f"{part!r} outside of all brackets")
        elif part != ")":
            waiting[-1].name(part)
        elif len(waiting) > 1:
            tree = waiting.pop().tree()
            waiting[-1].child(tree)
        else:
            yield waiting.pop().tree()
