"""A constituency tree, section 6.3: a value that is compared, written and folded at any depth, without recursion."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar

from transformer_jax.errors import UserError

BLANKS = " \t\r\n"  # what divides the parts of a written tree; any other white space, U+00A0 say, belongs to a word
_NAME = re.compile(rf"[^(){BLANKS}]+")
_Result = TypeVar("_Result")


class TreeError(UserError):
    """Text, or a sequence of tokens, that is no tree: the message says where and why."""


def is_name(text: str) -> bool:
    """Whether `text` can be a label, a tag or a word: not empty, without blanks and brackets."""
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tree:
    """A leaf, which is a word under its part-of-speech tag, or a constituent: a label over one child or more.

    Raises:
        TreeError: both a word and children, or neither; a name with a blank or a bracket, or an empty one. Only a
            constituent may lack its label, as the outer bracket of the Penn Treebank's files does: "".
    """

    label: str  # of a leaf, its tag
    children: tuple["Tree", ...] = ()
    word: str | None = None

    def __post_init__(self) -> None:
        if (self.word is None) == (not self.children):
            raise TreeError(f"tree {self.label!r}: must have either a word or children")
        for name in (self.label, self.word):
            if name is not None and not is_name(name) and (name or self.is_leaf):
                raise TreeError(f"tree {self.label!r}: {name!r} must be a name without blanks and brackets")

    @property
    def is_leaf(self) -> bool:
        return self.word is not None

    def walk(self) -> Iterator[tuple[Literal["opening", "leaf", "closing"], "Tree"]]:
        """From left to right: each leaf, and each constituent twice, where it opens and where it closes."""
        waiting: list[tuple[Tree, bool]] = [(self, False)]
        while waiting:
            tree, is_open = waiting.pop()
            if tree.is_leaf:
                yield "leaf", tree
            elif is_open:
                yield "closing", tree
            else:
                yield "opening", tree
                waiting.append((tree, True))
                waiting.extend((child, False) for child in reversed(tree.children))

    def fold(
        self, leaf: Callable[["Tree"], _Result], constituent: Callable[["Tree", list[_Result]], _Result]
    ) -> _Result:
        """The result at the root: each leaf's own, each constituent's from itself and its children's results."""
        results: list[list[_Result]] = [[]]
        for kind, tree in self.walk():
            if kind == "opening":
                results.append([])
            elif kind == "leaf":
                results[-1].append(leaf(tree))
            else:
                own = constituent(tree, results.pop())
                results[-1].append(own)
        return results[0][0]

    def leaves(self) -> list["Tree"]:
        return [tree for kind, tree in self.walk() if kind == "leaf"]

    def words(self) -> list[str]:
        return [str(leaf.word) for leaf in self.leaves()]

    def tags(self) -> list[str]:
        return [leaf.label for leaf in self.leaves()]

    def __str__(self) -> str:
        """One line, as in "(S (NP (NNP John)) (VP (VBZ sings)))"; an unlabelled bracket is "( (S ...))"."""
        parts: list[str] = []
        for kind, tree in self.walk():
            if kind == "closing":
                parts[-1] += ")"
            else:
                parts.append(f"({tree.label}" if kind == "opening" else f"({tree.label} {tree.word})")
        return " ".join(parts)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and (self is other or str(self) == str(other))

    def __hash__(self) -> int:
        return hash(str(self))
