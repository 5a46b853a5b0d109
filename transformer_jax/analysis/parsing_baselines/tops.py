"""The top of a tree: the labels above its first constituent with several children, as in (S1 (S (NP ...) (VP ...))).

Treebanks have habits there, GENIA's (S1 (S (S ...))) among them, which the yardsticks take over whole: a chain that
comes back to its own label has no place in a best derivation.
"""

from transformer_jax.trees.tree import Tree


def divide_top(tree: Tree) -> tuple[tuple[str, ...], Tree]:
    """The labels over a single child, from the root down, and what is under them: a leaf, or one with more children."""
    labels: list[str] = []
    while len(tree.children) == 1:
        labels.append(tree.label)
        tree = tree.children[0]
    return tuple(labels), tree


def under_top(labels: tuple[str, ...], tree: Tree) -> Tree:
    """The inverse of `divide_top`."""
    for label in reversed(labels):
        tree = Tree(label, (tree,))
    return tree
