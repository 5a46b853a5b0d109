"""Where the parts of a drawn tree stand: words in one row at the bottom, each label over the middle of its children.

Sizes are whole numbers of whatever unit the drawing has: columns of a terminal, pixels.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from transformer_jax.trees.tree import Tree

Width = Callable[[str], int]


@dataclass(slots=True)
class Node:
    """A drawn label with what is below it."""

    label: str
    word: str | None
    width: int  # of all that is below it, and of itself
    centre: int  # at first from the left edge of that, in the end from the left edge of the picture
    level: int  # of a leaf 0, of a constituent one more than the highest child's
    children: "list[Node]" = field(default_factory=list)
    left: int = 0  # edge, as `centre`

    def nodes(self) -> "Iterator[Node]":
        """Each before its children."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))


def shown(text: str) -> str:
    """What can be seen of a text: a word may hold characters that would move a terminal's cursor or break a picture."""
    return "".join(one if one.isprintable() else " " if one.isspace() else "\N{REPLACEMENT CHARACTER}" for one in text)


def laid_out(tree: Tree, label_width: Width, word_width: Width, gap: int) -> Node:
    """The places of a tree's labels and words, side by side without touching.

    Args:
      gap: between neighbours, at least.
    """

    def leaf(tree: Tree) -> Node:
        label, word = shown(tree.label), shown(str(tree.word))
        width = max(label_width(label), word_width(word))
        return Node(label, word, width, width // 2, level=0)

    def constituent(tree: Tree, children: list[Node]) -> Node:
        label, right = shown(tree.label), 0
        for child in children:
            child.left = right
            right += child.width + gap
        centre = sum(child.left + child.centre for child in (children[0], children[-1])) // 2
        own = label_width(label)
        beyond = max(0, own // 2 - centre)  # a label wider than what is below it
        for child in children:
            child.left += beyond
        centre += beyond
        width = max(right - gap + beyond, centre - own // 2 + own)
        return Node(label, None, width, centre, 1 + max(child.level for child in children), children)

    root = tree.fold(leaf, constituent)
    for node in root.nodes():
        node.centre += node.left
        for child in node.children:
            child.left += node.left
    return root
