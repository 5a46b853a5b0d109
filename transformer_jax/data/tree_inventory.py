"""What a parser has to know of its training trees beside its weights: their symbols, and how their words are tagged."""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from transformer_jax.config import CorpusSource, Trees
from transformer_jax.data.tree_pairs import cleaned_trees, tree_parts
from transformer_jax.errors import UserError
from transformer_jax.trees.linearisation import linearised

INVENTORY = "trees.json"  # the file's name, in prepared data and in a run's folder


class TreeInventoryError(UserError):
    """A file that holds no inventory: the message names it."""


@dataclass(frozen=True)
class TreeInventory:
    """Counts are of all trees that were read, those included that are no training pairs for another reason."""

    tokens: list[str]  # of the targets, each once, sorted; none where words stand for themselves
    tag: str  # the most frequent one; of several, the first in alphabetical order, as below
    tags: Mapping[str, str]  # the most frequent one of each word for which it is another
    trees: int
    left_out: int  # of them, nothing but traces
    changes: Mapping[str, int]  # how often each part of cleaning found something

    def tag_of(self, word: str) -> str:
        return self.tags.get(word, self.tag)

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
        raise TreeInventoryError(f"{path}: no inventory of training trees ({error})") from error


def read_inventory(source: CorpusSource, directory: str, trees: Trees) -> TreeInventory:
    """Of all parts that are trees: there must be one, and a word in it.

    Raises:
        CorpusError, TreeError: as `tree_pairs`.
    """
    tokens: set[str] = set()
    tags: dict[str, Counter[str]] = defaultdict(Counter)
    found: Counter[str] = Counter()
    for part in tree_parts(source):
        for tree, changes in cleaned_trees(part, directory, trees):
            found["trees"] += 1
            found.update(changes)
            for leaf in [] if tree is None else tree.leaves():
                tags[str(leaf.word)][leaf.label] += 1
            if tree is not None and trees.leaves != "words":
                tokens.update(linearised(tree, trees.leaves))
            found["left out"] += tree is None
    most = _most_frequent(sum(tags.values(), Counter()))
    by_word = {word: _most_frequent(counts) for word, counts in sorted(tags.items())}
    return TreeInventory(
        sorted(tokens),
        most,
        {word: tag for word, tag in by_word.items() if tag != most},
        found.pop("trees"),
        found.pop("left out"),
        dict(sorted(found.items())),
    )


def _most_frequent(counts: Counter[str]) -> str:
    return min(counts, key=lambda tag: (-counts[tag], tag))
