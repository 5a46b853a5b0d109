"""From sentences to trees, section 6.3: what the model says, read as a tree over exactly the sentence's words."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from transformer_jax.config import Experiment
from transformer_jax.data.tree_inventory import TreeInventory
from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.decoding.translator import Translation, Translator
from transformer_jax.decoding.tree_symbols import TreeSymbols, tree_symbols
from transformer_jax.trees.repair import Repair, repaired
from transformer_jax.trees.symbols import Leaves, leaf_names
from transformer_jax.trees.tree import BLANKS, Tree

_NO_BLANKS = re.compile(f"[^{BLANKS}]+")
_BRACKETS = {"(": "-LRB-", ")": "-RRB-"}  # as treebanks write them


class Parse(NamedTuple):
    """Of one sentence."""

    tree: Tree | None  # without an outer label; None: the sentence has no words
    repairs: Counter[Repair]  # what it took to make it of the translation; nothing, where that said a tree
    translation: Translation


def words_of(sentence: str) -> list[str]:
    """What blanks divide, with brackets escaped: of a treebank's sentence, its words as they are."""
    escaped = "".join(_BRACKETS.get(character, character) for character in sentence)
    return _NO_BLANKS.findall(escaped)


def parse_of(sentence: str, translation: Translation, leaves: Leaves, inventory: TreeInventory) -> Parse:
    """The tree over the sentence's words that is nearest to its translation's text."""
    words = words_of(sentence)
    if not words:
        return Parse(None, Counter(), translation)
    tree, repairs = repaired(_NO_BLANKS.findall(translation.text), words, leaves, inventory.tag_of)
    return Parse(tree, repairs, translation)


def symbols_for(experiment: Experiment, inventory: TreeInventory, vocabulary: Vocabulary) -> TreeSymbols:
    """The symbols of the training trees, for a search that is constrained to trees.

    Raises:
        TreeSymbolError: the vocabulary cannot write them so that they can be told apart.
    """
    names = leaf_names(experiment.trees.leaves, ())
    known = {"lexicon": inventory.lexicon, "most_openings": inventory.most_openings}
    more: Any = known if experiment.decoding.constrained_to_inventory else {}
    return tree_symbols(inventory.tokens, vocabulary.encode, vocabulary.size, names, **more)


class Parser:
    """A model that was trained on trees, with its vocabulary and what it has to know of these trees."""

    def __init__(self, translator: Translator, leaves: Leaves, inventory: TreeInventory):
        self._translator, self._leaves, self._inventory = translator, leaves, inventory

    def parse(
        self, sentences: Sequence[str], on_progress: Callable[[int], None] = lambda _: None, *, first: int = 0
    ) -> list[Parse]:
        """As many parses as sentences, in order; a tree is never malformed, and over exactly its sentence's words.

        Args:
          on_progress: told how many are done.
          first: the number of the first sentence in the whole input, on which what is sampled depends.
        """
        words = [words_of(sentence) for sentence in sentences]
        lines = [" ".join(own) for own in words]
        translations = self._translator.translate(lines, on_progress, first=first, words=words)
        return [
            parse_of(line, translation, self._leaves, self._inventory)
            for line, translation in zip(lines, translations, strict=True)
        ]
