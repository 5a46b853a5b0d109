"""The words and brackets of a sentence, as EVALB counts them.

A sentence is a sequence of trees: as a rule one, none where a parser gave none.
"""

from collections.abc import Sequence
from typing import NamedTuple

from transformer_jax.metrics.bracketing.parameters import BracketingParameters
from transformer_jax.trees.tree import Tree

_QUOTES = ("'", '"', "/")


class Word(NamedTuple):
    text: str
    tag: str


class Bracket(NamedTuple):
    """A constituent over the words from `start` up to, not including, `end`."""

    label: str
    start: int
    end: int


class Sentence(NamedTuple):
    words: list[Word]
    brackets: list[Bracket]  # in the order in which they open


def sentence(trees: Sequence[Tree]) -> Sentence:
    """All words and brackets; labels without their function: "NP-SBJ" and "NP=2" are NP, "-X-" is ""."""
    words: list[Word] = []
    brackets: list[Bracket] = []
    open_ones: list[int] = []
    for kind, tree in (event for root in trees for event in root.walk()):
        if kind == "leaf":
            words.append(Word(str(tree.word), tree.label))
        elif kind == "opening":
            open_ones.append(len(brackets))
            brackets.append(Bracket(_without_function(tree.label), len(words), len(words)))
        else:
            closed = open_ones.pop()
            brackets[closed] = brackets[closed]._replace(end=len(words))
    return Sentence(words, brackets)


def counted(both: Sentence, kept: Sequence[bool], deleted: frozenset[str]) -> Sentence:
    """The words that are `kept`, and the brackets over them: without those of `deleted` labels, or without a word."""
    before = [0]
    for keep in kept:
        before.append(before[-1] + keep)
    words = [word for word, keep in zip(both.words, kept, strict=True) if keep]
    moved = [Bracket(label, before[start], before[end]) for label, start, end in both.brackets]
    return Sentence(words, [one for one in moved if one.start < one.end and one.label not in deleted])


def counted_pair(gold: Sentence, test: Sentence, parameters: BracketingParameters) -> tuple[Sentence, Sentence]:
    """Both without the words that their tags delete.

    A quote that only one side deletes, as the other tagged it otherwise, would put all later words out of step. If the
    numbers of words differ, each such quote is therefore kept on both sides, given that both tags are quote labels.
    Where no counted word stands between two quotes, EVALB can take one for the other; this does not follow it there.
    """
    sides = (gold, test)
    kept = [[word.tag not in parameters.deleted for word in side.words] for side in sides]
    if sum(kept[0]) != sum(kept[1]) and any(kept[1]):
        quotes = [_quotes(side, parameters) for side in sides]
        for place in quotes[0].keys() & quotes[1].keys():
            indices = (quotes[0][place], quotes[1][place])
            if any(kept[side][index] for side, index in enumerate(indices)):
                for side, index in enumerate(indices):
                    kept[side][index] = True
    return counted(gold, kept[0], parameters.deleted), counted(test, kept[1], parameters.deleted)


def length(one: Sentence, parameters: BracketingParameters) -> int:
    return sum(word.tag not in parameters.deleted_for_length for word in one.words)


def _quotes(one: Sentence, parameters: BracketingParameters) -> dict[int, int]:
    """Index of each quote by its place among the words that make the sentence's length."""
    found, place = {}, 0
    for index, word in enumerate(one.words):
        if word.text in _QUOTES and word.tag in parameters.quote_labels:
            found[place] = index
        place += word.tag not in parameters.deleted_for_length
    return found


def _without_function(label: str) -> str:
    return label.replace("=", "-").split("-", 1)[0]
