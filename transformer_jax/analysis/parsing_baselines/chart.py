"""CKY: the best score of every symbol over every span of a sentence, from short spans to long ones."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from transformer_jax.analysis.parsing_baselines.grammar import Grammar


@dataclass(frozen=True)
class Chart:
    """Log-scores over the words from `start` up to, not including, `end`; -inf where a symbol cannot be.

    Splits lie together, so that the two sides of a span are rows: `left[start, symbol]` and `right[end, symbol]`.
    """

    left: Float[np.ndarray, "words labels words"]  # start, symbol, end - 1; no made symbol is a left child
    right: Float[np.ndarray, "words symbols words"]  # end - 1, symbol, start
    unchained: Float[np.ndarray, "words words labels"]  # start, end - 1: before unary chains


def fill_chart(grammar: Grammar, words: Float[np.ndarray, "words labels"]) -> Chart:
    """The chart of a sentence, given each word's log-scores under the labels that are tags, -inf under all others."""
    length, num_labels = words.shape
    chart = Chart(
        np.full((length, num_labels, length), -np.inf, np.float32),
        np.full((length, len(grammar.symbols), length), -np.inf, np.float32),
        np.full((length, length, num_labels), -np.inf, np.float32),
    )
    starts_with = np.zeros((length, num_labels), bool)  # whether a symbol has any span from this start so far
    for last in range(length):
        ends_with = np.zeros(len(grammar.symbols), bool)
        for start in range(last, -1, -1):
            cell = np.full(len(grammar.symbols), -np.inf, np.float32)
            if start == last:
                cell[:num_labels] = words[start]
            else:
                possible = np.flatnonzero(starts_with[start][grammar.left] & ends_with[grammar.right])
                _fill_from_rules(cell, grammar, possible, chart, start, last)
            chart.unchained[start, last] = cell[:num_labels]
            cell[:num_labels] = (grammar.chain + cell[:num_labels]).max(axis=1)
            chart.left[start, :, last] = cell[:num_labels]
            chart.right[last, :, start] = cell
            starts_with[start] |= cell[:num_labels] > -np.inf
            ends_with |= cell > -np.inf
    return chart


def split_scores(
    grammar: Grammar, rules: slice | np.ndarray, chart: Chart, start: int, last: int
) -> Float[np.ndarray, "rules splits"]:
    """Of each rule at each split: the left child ends before words start + 1, start + 2 ... last."""
    left = chart.left[start][:, start:last].take(grammar.left[rules], axis=0)
    left += chart.right[last][:, start + 1 : last + 1].take(grammar.right[rules], axis=0)
    left += grammar.log_probability[rules, None]
    return left


def _fill_from_rules(
    cell: np.ndarray, grammar: Grammar, possible: np.ndarray, chart: Chart, start: int, last: int
) -> None:
    if not len(possible):
        return
    scores = split_scores(grammar, possible, chart, start, last).max(axis=1)
    parents = grammar.parent[possible]
    firsts = np.flatnonzero(np.diff(parents, prepend=-1))
    cell[parents[firsts]] = np.maximum.reduceat(scores, firsts)
