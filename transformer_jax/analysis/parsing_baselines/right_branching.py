"""A yardstick for parsing: each word with all that comes after it, which is right for much of English.

Of the training trees it knows only what gives it its due: the tree's top, one label for all constituents below it, and
each word's most probable tag. The label is the one that its brackets have most often where the trees have them, too.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from transformer_jax.analysis.parsing_baselines.lexicon import Lexicon, read_lexicon
from transformer_jax.analysis.parsing_baselines.tops import divide_top, under_top
from transformer_jax.metrics.bracketing.brackets import counted, sentence
from transformer_jax.metrics.bracketing.parameters import STANDARD
from transformer_jax.trees.tree import Tree

_Name = TypeVar("_Name", str, tuple[str, ...])


@dataclass(frozen=True)
class RightBranching:
    top: tuple[str, ...]  # the labels over the whole sentence, the root's first
    label: str
    lexicon: Lexicon

    def parse(self, words: Sequence[str]) -> Tree:
        """The tree over the words, of which there must be one."""
        leaves = [Tree(self.lexicon.best_tag(word), word=word) for word in words]
        tree = leaves[-1]
        for leaf in reversed(leaves[1:-1]):
            tree = Tree(self.label, (leaf, tree))
        below = (leaves[0], tree) if len(leaves) > 1 else (tree,)
        return under_top(self.top[:-1], Tree(self.top[-1], below))


def read_right_branching(trees: Sequence[Tree]) -> RightBranching:
    """The yardstick as the trees would have it: there must be one tree at least, and more in it than a leaf."""
    tops: Counter[tuple[str, ...]] = Counter()
    labels: Counter[str] = Counter()
    for tree in trees:
        top, below = divide_top(tree)
        tops[(*top, below.label) if below.children else top] += 1
        labels.update(_labels_to_the_end(tree))
    top = _most_frequent(tops)
    return RightBranching(top, _most_frequent(labels) if labels else top[-1], read_lexicon(trees))


def _labels_to_the_end(tree: Tree) -> list[str]:
    """Of the constituents from any word but the first to the last; punctuation does not count as words."""
    whole = sentence([tree])
    kept = counted(whole, [word.tag not in STANDARD.deleted for word in whole.words], STANDARD.deleted)
    spans = {bracket for bracket in kept.brackets if bracket.start > 0 and bracket.end == len(kept.words)}
    return [bracket.label for bracket in spans]


def _most_frequent(counts: Counter[_Name]) -> _Name:
    """Of several, the first in alphabetical order, so that the same trees give the same yardstick."""
    return min(counts, key=lambda name: (-counts[name], name))
