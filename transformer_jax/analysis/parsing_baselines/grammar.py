"""A treebank grammar: the rules of the training trees with their relative frequencies (Charniak 1996), binarised.

A rule A -> B C D E is written by the right, A -> B A1, A1 -> C A2, A2 -> D E, where A1 and A2 know A and the last
`horizontal` of the children before them (Klein and Manning 2003); without a limit the probabilities of whole rules are
kept exactly. Chains of unary rules are closed: for each pair of symbols the best chain counts, which never comes back.
The tops of trees (see `tops`) are no rules, but chosen as a whole.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from transformer_jax.analysis.parsing_baselines.tops import divide_top
from transformer_jax.trees.tree import Tree


class Symbol(NamedTuple):
    label: str
    is_tag: bool = False
    before: tuple["Symbol", ...] = ()  # of a symbol that the binarisation made: the children that it comes after

    @property
    def is_made(self) -> bool:
        return bool(self.before)


@dataclass(frozen=True)
class Grammar:
    """Symbols by number: labels and tags, which are the first `num_labels`, then those that the binarisation made."""

    symbols: tuple[Symbol, ...]
    num_labels: int
    tops: tuple[tuple[str, ...], ...]  # the most frequent one over each label; () also where there is none
    top_log_probability: Float[np.ndarray, "labels"]  # of that top with that label
    parent: Int[np.ndarray, "rules"]  # the binary rules, in the order of their parents
    left: Int[np.ndarray, "rules"]
    right: Int[np.ndarray, "rules"]
    log_probability: Float[np.ndarray, "rules"]
    chain: Float[np.ndarray, "labels labels"]  # of the best chain from a label down to another; 0 to itself
    chain_step: Int[np.ndarray, "labels labels"]  # that chain's first step

    def rules_of(self, parent: int) -> slice:
        first, last = np.searchsorted(self.parent, [parent, parent + 1])
        return slice(int(first), int(last))


def read_grammar(trees: Iterable[Tree], horizontal: int | None = 2) -> Grammar:
    """The grammar of the trees' constituents.

    Args:
        horizontal: how many children, 1 at least, a symbol of the binarisation remembers; None: all.

    Raises:
        ValueError: `horizontal` is less than 1.
    """
    if horizontal is not None and horizontal < 1:
        raise ValueError(f"horizontal={horizontal}: must be 1 at least, or None")
    tops: Counter[tuple[tuple[str, ...], Symbol]] = Counter()
    rules: Counter[tuple[Symbol, ...]] = Counter()  # a parent with its one or two children
    for tree in trees:
        labels, below = divide_top(tree)
        tops[labels, _symbol(below)] += 1
        for kind, node in below.walk():
            if kind == "opening":
                rules.update(_binarised(_symbol(node), [_symbol(child) for child in node.children], horizontal))
    found = {symbol for rule in rules for symbol in rule} | {symbol for _, symbol in tops}
    symbols = tuple(sorted(found, key=lambda symbol: (symbol.is_made, symbol)))
    numbers = {symbol: number for number, symbol in enumerate(symbols)}
    num_labels = sum(not symbol.is_made for symbol in symbols)
    weighed = _weighed(rules, numbers)
    binary = [(numbers, weight) for numbers, weight in weighed if len(numbers) == 3]
    unary = [(numbers, weight) for numbers, weight in weighed if len(numbers) == 2]
    parent, left, right = np.array([rule for rule, _ in binary], np.int64).reshape(-1, 3).T
    return Grammar(
        symbols,
        num_labels,
        *_best_tops(tops, symbols[:num_labels]),
        parent,
        left,
        right,
        np.array([weight for _, weight in binary], np.float32),
        *_chains(unary, num_labels),
    )


def _symbol(tree: Tree) -> Symbol:
    return Symbol(tree.label, tree.is_leaf)


def _binarised(label: Symbol, children: Sequence[Symbol], horizontal: int | None) -> Iterator[tuple[Symbol, ...]]:
    parent = label
    for end in range(1, len(children) - 1):
        start = 0 if horizontal is None else max(0, end - horizontal)
        rest = Symbol(label.label, before=tuple(children[start:end]))
        yield parent, children[end - 1], rest
        parent = rest
    yield parent, *children[-2:]


def _weighed(rules: Counter[tuple[Symbol, ...]], numbers: Mapping[Symbol, int]) -> list[tuple[tuple[int, ...], float]]:
    """Each rule in numbers, with the logarithm of its share in its parent's uses; in the order of parents."""
    uses: Counter[Symbol] = Counter()
    for (parent, *_), count in rules.items():
        uses[parent] += count
    return sorted(
        (tuple(numbers[symbol] for symbol in rule), math.log(count / uses[rule[0]])) for rule, count in rules.items()
    )


def _best_tops(
    tops: Counter[tuple[tuple[str, ...], Symbol]], labels: Sequence[Symbol]
) -> tuple[tuple[tuple[str, ...], ...], np.ndarray]:
    best = {symbol: (names, count) for (names, symbol), count in sorted(tops.items(), key=lambda top: top[1])}
    chosen = [best.get(label, ((), 0)) for label in labels]
    with np.errstate(divide="ignore"):
        weights = np.log(np.array([count for _, count in chosen], np.float32) / tops.total())
    return tuple(names for names, _ in chosen), weights


def _chains(unary: Iterable[tuple[tuple[int, ...], float]], num_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Best chains between all labels, by Floyd and Warshall's way."""
    best = np.full((num_labels, num_labels), -np.inf, np.float32)
    step = np.tile(np.arange(num_labels), (num_labels, 1))
    for (parent, child), log_probability in unary:
        best[parent, child] = log_probability
    np.fill_diagonal(best, 0.0)
    for middle in range(num_labels):
        through = best[:, middle, None] + best[middle]
        better = through > best
        best = np.where(better, through, best)
        step = np.where(better, step[:, middle, None], step)
    return best, step
