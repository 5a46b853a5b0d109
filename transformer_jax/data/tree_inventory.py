"""What a parser has to know of its training trees beside its weights: their symbols, and how their words are tagged."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from transformer_jax.config import CorpusSource, Trees
from transformer_jax.data.tree_pairs import cleaned_trees, tree_parts
from transformer_jax.errors import UserError
from transformer_jax.trees.linearisation import linearised
from transformer_jax.trees.tree import Tree

INVENTORY = "trees.json"  # the file's name, in prepared data and in a run's folder


class TreeInventoryError(UserError):
    """A file that holds no inventory: the message names it."""


@dataclass(frozen=True)
class TreeInventory:
    """Counts are of all trees that were read, those included that are no training pairs for another reason."""

    tokens: list[str]  # of the targets, each once, sorted; none where words stand for themselves
    tag: str  # the most frequent one; of several, the first in alphabetical order, as below
    lexicon: Mapping[str, Sequence[str]]  # the tags of each word, the most frequent first
    most_openings: int  # constituents that begin at one word, at most
    trees: int
    left_out: int  # of them, nothing but traces
    changes: Mapping[str, int]  # how often each part of cleaning found something

    def tag_of(self, word: str) -> str:
        """The most frequent one of the word; of a word that is in no training tree, of all words."""
        return self.lexicon[word][0] if word in self.lexicon else self.tag

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


def load_inventory(path: Path) -> TreeInventory:
    """What `TreeInventory.save` wrote.

    Raises:
        TreeInventoryError: the file is missing, or something else.
    """
    try:
        return TreeInventory(**json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise TreeInventoryError(
            f"{path}: no inventory of training trees ({error}); the command that trained the run writes it anew"
        ) from error


def read_inventory(source: CorpusSource, directory: str, trees: Trees) -> TreeInventory:
    """Of all parts that are trees: there must be one, and a word in it.

    Raises:
        CorpusError, TreeError: as `tree_pairs`.
    """
    tokens: set[str] = set()
    tags: dict[str, Counter[str]] = defaultdict(Counter)
    found: Counter[str] = Counter()
    most_openings = 0
    for part in tree_parts(source):
        for tree, changes in cleaned_trees(part, directory, trees):
            found["trees"] += 1
            found.update(changes)
            if tree is None:
                found["left out"] += 1
                continue
            most_openings = max(most_openings, _most_openings(tree))
            for leaf in tree.leaves():
                tags[str(leaf.word)][leaf.label] += 1
            if trees.leaves != "words":
                tokens.update(linearised(tree, trees.leaves))
    return TreeInventory(
        sorted(tokens),
        _by_frequency(sum(tags.values(), Counter()))[0],
        {word: _by_frequency(counts) for word, counts in sorted(tags.items())},
        most_openings,
        found.pop("trees"),
        found.pop("left out", 0),
        dict(sorted(found.items())),
    )


def _most_openings(tree: Tree) -> int:
    """Of constituents, each of which is the first child of the one before."""

    def of(_: Tree, parts: Sequence[tuple[int, int]]) -> tuple[int, int]:
        own = 1 + parts[0][0]
        return own, max(own, *(most for _, most in parts))

    return tree.fold(lambda _: (0, 0), of)[1]


def _by_frequency(counts: Counter[str]) -> list[str]:
    return sorted(counts, key=lambda tag: (-counts[tag], tag))
