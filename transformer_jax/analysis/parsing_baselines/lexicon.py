"""Which tags a word may have, read off trees: the yardsticks get words alone, as the Transformer does.

A word's classes go from coarse to fine: any word, its shape, its shape and last letter, last two, last three, the word
itself. Each class's estimate is its own relative frequencies and, as if seen once more, the coarser class's estimate:

    p_k(tag) = (count_k(tag) + p_{k-1}(tag)) / (count_k + 1)

Words seen once stand for those never seen: the classes, the word itself aside, are counted over them alone.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from transformer_jax.trees.tree import Tree

_SUFFIXES = (1, 2, 3)
_LEAST_PROBABILITY = 1e-4  # of a tag given a word; the parser does not try rarer ones


class _Word(NamedTuple):
    """The finest class; a name of its own, so that no word is taken for a shape."""

    text: str


_Class = str | _Word


@dataclass(frozen=True)
class Lexicon:
    tags: tuple[str, ...]
    counts: Mapping[_Class, Float[np.ndarray, "tags"]]
    tag_probabilities: Float[np.ndarray, "tags"]

    def probabilities(self, word: str) -> Float[np.ndarray, "tags"]:
        """P(tag | word), which sums to 1."""
        estimate = self.tag_probabilities
        for name in _classes(word):
            counts = self.counts.get(name)
            if counts is not None:
                estimate = (counts + estimate) / (counts.sum() + 1.0)
        return estimate

    def log_scores(self, word: str) -> Float[np.ndarray, "tags"]:
        """log P(word | tag) but for a constant of the word: by Bayes, P(tag | word) / P(tag)."""
        given = self.probabilities(word)
        allowed = given >= _LEAST_PROBABILITY
        return np.where(allowed, np.log(given, where=allowed, out=np.zeros_like(given)), -np.inf) - np.log(
            self.tag_probabilities
        )

    def best_tag(self, word: str) -> str:
        return self.tags[int(self.probabilities(word).argmax())]


def read_lexicon(trees: Iterable[Tree]) -> Lexicon:
    """The lexicon of all leaves; there must be one at least."""
    leaves = Counter((str(leaf.word), leaf.label) for tree in trees for leaf in tree.leaves())
    tags = tuple(sorted({tag for _, tag in leaves}))
    words: Counter[str] = Counter()
    for (word, _), count in leaves.items():
        words[word] += count
    counts: dict[_Class, np.ndarray] = defaultdict(lambda: np.zeros(len(tags)))
    total = np.zeros(len(tags))
    for (word, tag), count in leaves.items():
        number = tags.index(tag)
        total[number] += count
        for name in _classes(word) if words[word] == 1 else [_Word(word)]:
            counts[name][number] += count
    return Lexicon(tags, dict(counts), total / total.sum())


def _classes(word: str) -> Sequence[_Class]:
    shape = _shape(word)
    endings = [f"{shape} {word[-size:].lower()}" for size in _SUFFIXES if len(word) > size]
    return ["any", shape, *endings, _Word(word)]


def _shape(word: str) -> str:
    """What of this the word has: a capital first, capitals later, small letters, digits, hyphens, anything else."""
    signs = {
        "A": word[:1].isupper(),
        "B": any(letter.isupper() for letter in word[1:]),
        "a": any(letter.islower() for letter in word),
        "0": any(letter.isdigit() for letter in word),
        "-": "-" in word,
        ".": any(not letter.isalnum() and letter != "-" for letter in word),
    }
    return "".join(sign for sign, has in signs.items() if has)
