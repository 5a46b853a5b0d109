"""From a treebank's annotation to the trees that a parser learns: traces, function labels and unary loops go.

Each part is an option, and what was changed is counted.
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import Literal, NamedTuple

from transformer_jax.trees.tree import Tree

Change = Literal["traces", "emptied constituents", "function labels", "unary loops", "outer labels"]
OUTER_LABELS = ("", "TOP", "S1", "ROOT")
_TRACE = "-NONE-"
_CATEGORY = re.compile(r"[^-=]+")


@dataclass(frozen=True)
class Cleaning:
    """Which parts are cleaned, in this order.

    A child is cleaned before the constituent above it, so that a loop over a trace that is gone is found.
    """

    traces: bool = True  # leaves tagged -NONE-, and the constituents in which nothing else is
    function_labels: bool = True  # NP-SBJ-1=2 becomes NP
    unary_loops: bool = False  # NP over nothing but an NP becomes that one; EVALB scores both
    outer_label: bool = True  # the tree under TOP, S1, ROOT or an unlabelled bracket, where there is one alone


class Cleaned(NamedTuple):
    """A tree, and how often each part was found in it."""

    tree: Tree | None  # None: nothing but traces
    changes: Counter[Change]


def category(label: str) -> str:
    """A constituent's label up to its first "-" or "="; all of one that begins with such a sign.

    Alternatives, as in ADVP|PRT, stay.
    """
    match = _CATEGORY.match(label)
    return match[0] if match else label


def cleaned(tree: Tree, cleaning: Cleaning) -> Cleaned:
    """The tree without what `cleaning` names."""
    changes: Counter[Change] = Counter()

    def leaf(tree: Tree) -> Tree | None:
        if not (cleaning.traces and tree.label == _TRACE):
            return tree
        changes["traces"] += 1
        return None

    def constituent(tree: Tree, parts: list[Tree | None]) -> Tree | None:
        children = tuple(part for part in parts if part is not None)
        if not children:
            changes["emptied constituents"] += 1
            return None
        label = category(tree.label) if cleaning.function_labels else tree.label
        changes["function labels"] += label != tree.label
        if cleaning.unary_loops and len(children) == 1 and not children[0].is_leaf and children[0].label == label:
            changes["unary loops"] += 1
            return children[0]
        return Tree(label, children)

    result = tree.fold(leaf, constituent)
    if cleaning.outer_label and result is not None and result.label in OUTER_LABELS and len(result.children) == 1:
        changes["outer labels"] += 1
        result = result.children[0]
    return Cleaned(result, +changes)


def under(label: str, tree: Tree) -> Tree:
    """The tree under an outer label again, as the files of a treebank have it."""
    return Tree(label, (tree,))
