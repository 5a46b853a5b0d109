"""The symbols of linearised trees as a vocabulary writes them: tables of an automaton over pieces.

The symbols are a closed set, read off the training targets: labels opening and closing, and leaves, which stand for
words. Which leaves a word may have is said by its class.
"""

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from jaxtyping import Bool, Int

from transformer_jax.errors import UserError
from transformer_jax.special_ids import UNK_ID
from transformer_jax.trees.symbols import PENN_TAGS, Symbol, read, written

OPENING, LEAF, CLOSING, NO_KIND = range(4)
NOWHERE, ROOT = 0, 1  # nodes: no symbol begins like this; nothing of the symbol is said yet
_ANY_NUMBER = 1 << 30
_KINDS = {"opening": OPENING, "leaf": LEAF, "closing": CLOSING}


class TreeSymbolError(UserError):
    """Targets or a vocabulary that no tree can be read from, piece by piece."""


@dataclass(frozen=True, eq=False)
class TreeSymbols:
    """Tables over symbols, the last entry of each being "no symbol", and over nodes: beginnings of symbols."""

    kinds: Int[np.ndarray, "symbols"]
    labels: Int[np.ndarray, "symbols"]  # the number of the label; -1 without
    lengths: Int[np.ndarray, "symbols"]  # in pieces
    closing_lengths: Int[np.ndarray, "symbols"]  # of the closing symbol of the same label; 0 without
    completed: Int[np.ndarray, "nodes"]  # the symbol that a node is the whole of
    leads_to: Bool[np.ndarray, "nodes symbols"]  # whether a symbol begins so
    children: Int[np.ndarray, "nodes pieces"]  # the node one piece later; the last piece is "any other"
    pieces: Int[np.ndarray, "vocab"]  # the piece that an id is
    classes: Mapping[str, int]  # of words; any other word is of class 0
    allowed: Bool[np.ndarray, "classes symbols"]  # the leaves that a word may have; of class 0 any
    most_openings: int  # in a row
    marks_begin: bool  # whether a piece tells that a symbol begins with it, as SentencePiece's do, or that one ends
    marked: Bool[np.ndarray, "pieces"]

    @property
    def shortest_leaves(self) -> Int[np.ndarray, "classes"]:
        """Pieces of the shortest leaf that a word of each class may have."""
        return np.where(self.allowed, self.lengths, self.lengths.max()).min(axis=1).astype(np.int32)

    def classes_of(self, words: Iterable[str]) -> list[int]:
        return [self.classes.get(word, 0) for word in words]


def tree_symbols(
    tokens: Iterable[str],
    encode: Callable[[str], Sequence[int]],
    vocab_size: int,
    leaf_names: Container[str] = PENN_TAGS,
    lexicon: Mapping[str, Collection[str]] = MappingProxyType({}),
    most_openings: int = _ANY_NUMBER,
) -> TreeSymbols:
    """The symbols of all `tokens` of the training targets, as `encode` writes them.

    Args:
        lexicon: the only leaves that a word may have, of the words for which there are such.
        most_openings: constituents that may begin at one word.

    Raises:
        TreeSymbolError: a token is no symbol; there is no label, or no leaf, or none for a word; or the vocabulary has
            unknown pieces for a symbol, the same pieces for two, or none that tell where one begins or ends.
    """
    symbols = _closed_set(tokens, leaf_names)
    texts = [written(symbol, leaf_names) for symbol in symbols]
    spelled = [tuple(encode(text)) for text in texts]
    _check(texts, spelled, encode)
    numbers = {id: number for number, id in enumerate(sorted({id for ids in spelled for id in ids}))}
    numbered = [[numbers[id] for id in ids] for ids in spelled]
    completed, children, leads_to = _nodes(numbered, len(numbers))
    marks_begin = not _first(spelled) & _later(spelled)
    marking = _first(spelled) if marks_begin else _last(spelled)
    classes, allowed = _word_classes(symbols, lexicon)
    labels = sorted({symbol.name for symbol in symbols if symbol.kind != "leaf"})
    lengths = {symbol: len(ids) for symbol, ids in zip(symbols, spelled, strict=True)}
    return TreeSymbols(
        kinds=np.array([*(_KINDS[symbol.kind] for symbol in symbols), NO_KIND], np.int32),
        labels=np.array(
            [*(-1 if symbol.kind == "leaf" else labels.index(symbol.name) for symbol in symbols), -1], np.int32
        ),
        lengths=np.array([*lengths.values(), 0], np.int32),
        closing_lengths=np.array(
            [*(lengths[Symbol("closing", s.name)] if s.kind != "leaf" else 0 for s in symbols), 0], np.int32
        ),
        completed=completed,
        leads_to=leads_to,
        children=children,
        pieces=np.array([numbers.get(id, len(numbers)) for id in range(vocab_size)], np.int32),
        classes=classes,
        allowed=allowed,
        most_openings=most_openings,
        marks_begin=marks_begin,
        marked=np.array([*(id in marking for id in numbers), False]),
    )


def _closed_set(tokens: Iterable[str], leaf_names: Container[str]) -> list[Symbol]:
    """The symbols, sorted; each label both opens and closes."""
    found = set()
    for token in set(tokens):
        if (symbol := read(token, leaf_names)) is None:
            raise TreeSymbolError(f"the training targets' token {token!r} is no symbol of a linearised tree")
        found.add(symbol)
    labels = {symbol.name for symbol in found if symbol.kind != "leaf"}
    if not labels or len(found) == len([symbol for symbol in found if symbol.kind != "leaf"]):
        raise TreeSymbolError(
            "the training targets hold no linearised tree: no label, or nothing that stands for a word"
        )
    leaves = {symbol for symbol in found if symbol.kind == "leaf"}
    return sorted(leaves | {Symbol("opening", label) for label in labels} | {Symbol("closing", x) for x in labels})


def _word_classes(
    symbols: list[Symbol], lexicon: Mapping[str, Collection[str]]
) -> tuple[dict[str, int], Bool[np.ndarray, "classes symbols"]]:
    """Words that may have the same leaves are of one class."""
    sets = {word: frozenset(names) for word, names in lexicon.items()}
    distinct = sorted(set(sets.values()), key=sorted)
    numbers = {names: number for number, names in enumerate(distinct, 1)}
    classes = {word: numbers[names] for word, names in sets.items()}
    leaves = np.array([*(symbol.kind == "leaf" for symbol in symbols), False])
    own = [[*(symbol.name in names for symbol in symbols), False] for names in distinct]
    allowed = np.array([leaves, *(leaves & named for named in own)])
    if not allowed.any(axis=1).all():
        raise TreeSymbolError("the training targets have none of the leaves that a word may have")
    return classes, allowed


def _check(texts: list[str], spelled: list[tuple[int, ...]], encode: Callable[[str], Sequence[int]]) -> None:
    owners: dict[tuple[int, ...], str] = {}
    for text, ids in zip(texts, spelled, strict=True):
        if not ids or UNK_ID in ids:
            raise TreeSymbolError(
                f"the vocabulary cannot write the symbol {text!r}: learn it from the training targets"
            )
        if (other := owners.setdefault(ids, text)) != text:
            raise TreeSymbolError(f"the vocabulary writes the symbols {other!r} and {text!r} alike")
    apart = not _first(spelled) & _later(spelled) or not _last(spelled) & _earlier(spelled)
    if not apart or list(encode(" ".join(texts))) != [id for ids in spelled for id in ids]:
        raise TreeSymbolError("the vocabulary's pieces do not tell where a symbol begins or ends")


def _first(spelled: list[tuple[int, ...]]) -> set[int]:
    return {ids[0] for ids in spelled}


def _later(spelled: list[tuple[int, ...]]) -> set[int]:
    return {id for ids in spelled for id in ids[1:]}


def _last(spelled: list[tuple[int, ...]]) -> set[int]:
    return {ids[-1] for ids in spelled}


def _earlier(spelled: list[tuple[int, ...]]) -> set[int]:
    return {id for ids in spelled for id in ids[:-1]}


def _nodes(
    spelled: list[list[int]], num_pieces: int
) -> tuple[Int[np.ndarray, "nodes"], Int[np.ndarray, "nodes pieces"], Bool[np.ndarray, "nodes symbols"]]:
    """A trie: `completed`, `children` and `leads_to`."""
    nodes: dict[tuple[int, ...], int] = {(): ROOT}
    for ids in spelled:
        for end in range(1, len(ids) + 1):
            nodes.setdefault(tuple(ids[:end]), len(nodes) + ROOT)
    completed = np.full(len(nodes) + ROOT, len(spelled), np.int32)
    children = np.full((len(completed), num_pieces + 1), NOWHERE, np.int32)
    leads_to = np.zeros((len(completed), len(spelled) + 1), bool)
    for beginning, node in nodes.items():
        if beginning:
            children[nodes[beginning[:-1]], beginning[-1]] = node
    for symbol, ids in enumerate(spelled):
        completed[nodes[tuple(ids)]] = symbol
        for end in range(len(ids) + 1):
            leads_to[nodes[tuple(ids[:end])], symbol] = True
    return completed, children, leads_to
