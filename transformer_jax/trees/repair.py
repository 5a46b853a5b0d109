"""Any sequence of tokens as a well-formed tree over exactly the given words, section 6.3; what was done is counted.

A sequence that is such a tree is not changed. The paper does not say what it does with those that are not.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from transformer_jax.trees.symbols import BLANK, Leaves, leaf_name, leaf_names, read
from transformer_jax.trees.tree import Tree

Repair = Literal[
    "closings added",
    "closings dropped",  # of what is not open
    "constituents dropped",  # without a word in them
    "leaves added",  # for words that are left over: at the end, under the root
    "leaves dropped",  # beyond the last word
    "leaves replaced",  # that say another word
    "roots added",  # over several trees
    "tokens dropped",  # that are no symbols
]


class Repaired(NamedTuple):
    """A tree, and how often each repair was needed."""

    tree: Tree
    repairs: Counter[Repair]


def blank_tag(_word: str) -> str:
    """XX for every word."""
    return BLANK


def repaired(
    tokens: Iterable[str],
    words: Sequence[str],
    leaves: Leaves = "tags",
    tag_of: Callable[[str], str] = blank_tag,
    *,
    root: str = "S",
) -> Repaired:
    """The tree over `words` that the tokens say, read from left to right, or one near to it.

    A closing bracket also closes what was opened since; brackets still open at the end are closed there. Each leaf
    stands for the next word.

    Args:
      leaves: what stands for a word, see `linearisation`.
      tag_of: gives a word its tag, where the tokens do not say it.
      root: label of the constituent put over several trees.
    """
    if not words:
        raise ValueError("a tree needs a word")
    builder = _Builder(words, leaves, tag_of)
    names = leaf_names(leaves, words)
    for token in tokens:
        symbol = read(token, names)
        if symbol is None:
            builder.repairs["tokens dropped"] += 1
        else:
            {"opening": builder.opening, "leaf": builder.leaf, "closing": builder.closing}[symbol.kind](symbol.name)
    tree = builder.tree(root)
    return Repaired(tree, +builder.repairs)


class _Builder:
    """The tree so far."""

    def __init__(self, words: Sequence[str], leaves: Leaves, tag_of: Callable[[str], str]):
        self.repairs: Counter[Repair] = Counter()
        self._words, self._leaves, self._tag_of = words, leaves, tag_of
        self._said = 0  # words that have a leaf
        self._labels: list[str] = []  # of the open constituents, the root's first
        self._counts: Counter[str] = Counter()  # of these labels: no search at a closing bracket
        self._parts: list[list[Tree]] = [[]]  # whole trees outside of all, then the children of each open constituent

    def opening(self, label: str) -> None:
        self._labels.append(label)
        self._counts[label] += 1
        self._parts.append([])

    def leaf(self, name: str) -> None:
        if self._said == len(self._words):
            self.repairs["leaves dropped"] += 1
            return
        word = self._words[self._said]
        tag = name if self._leaves == "tags" else self._tag_of(word)
        self.repairs["leaves replaced"] += name != leaf_name(self._leaves, tag, word)
        self._add_leaf(tag, self._parts[-1])

    def closing(self, label: str) -> None:
        if not self._counts[label]:
            self.repairs["closings dropped"] += 1
            return
        while self._labels[-1] != label:
            self.repairs["closings added"] += 1
            self._close()
        self._close()

    def tree(self, root: str) -> Tree:
        """The whole, at the end."""
        self.repairs["closings added"] += len(self._labels)
        while self._labels:
            self._close()
        parts = self._parts[0]
        under_root = len(parts) == 1 and not parts[0].is_leaf
        if under_root:
            root, parts = parts[0].label, list(parts[0].children)
        for word in self._words[self._said :]:
            self.repairs["leaves added"] += 1
            self._add_leaf(self._tag_of(word), parts)
        if len(parts) == 1 and not under_root:
            return parts[0]
        self.repairs["roots added"] += not under_root
        return Tree(root, tuple(parts))

    def _add_leaf(self, tag: str, parts: list[Tree]) -> None:
        parts.append(Tree(tag, word=self._words[self._said]))
        self._said += 1

    def _close(self) -> None:
        label, children = self._labels.pop(), tuple(self._parts.pop())
        self._counts[label] -= 1
        if children:
            self._parts[-1].append(Tree(label, children))
        else:
            self.repairs["constituents dropped"] += 1
