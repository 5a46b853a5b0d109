"""A yardstick for parsing: a grammar read off the training trees, which gives a sentence its most probable tree."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from transformer_jax.analysis.parsing_baselines.chart import Chart, fill_chart, split_scores
from transformer_jax.analysis.parsing_baselines.grammar import Grammar, Symbol, read_grammar
from transformer_jax.analysis.parsing_baselines.lexicon import Lexicon, read_lexicon
from transformer_jax.analysis.parsing_baselines.tops import under_top
from transformer_jax.trees.tree import Tree


@dataclass(frozen=True)
class Pcfg:
    grammar: Grammar
    lexicon: Lexicon

    def parse(self, words: Sequence[str]) -> Tree | None:
        """The best tree over the words, of which there must be one; None if the grammar has none for them."""
        grammar = self.grammar
        tags = [grammar.symbols.index(Symbol(tag, is_tag=True)) for tag in self.lexicon.tags]
        scores = np.full((len(words), grammar.num_labels), -np.inf, np.float32)
        for place, word in enumerate(words):
            scores[place, tags] = self.lexicon.log_scores(word)
        chart = fill_chart(grammar, scores)
        tops = grammar.top_log_probability + chart.unchained[0, -1]
        bottom = int(tops.argmax())
        if tops[bottom] == -np.inf:
            return None
        return under_top(grammar.tops[bottom], _Reading(grammar, chart, words).unchained(bottom, 0, len(words) - 1))


def read_pcfg(trees: Sequence[Tree], horizontal: int | None = 2) -> Pcfg:
    """As `read_grammar`, with the lexicon of the same trees."""
    return Pcfg(read_grammar(trees, horizontal), read_lexicon(trees))


def parse_all(
    pcfg: Pcfg,
    otherwise: Callable[[Sequence[str]], Tree],
    sentences: Iterable[Sequence[str]],
    *,
    max_words: int = 200,  # a chart's size grows with the square of the words, its time with the cube
) -> tuple[list[Tree], int]:
    """A tree for each sentence, and of how many `otherwise` had to give it: too long, or not in the grammar."""
    trees, others = [], 0
    for words in sentences:
        tree = pcfg.parse(words) if len(words) <= max_words else None
        others += tree is None
        trees.append(otherwise(words) if tree is None else tree)
    return trees, others


@dataclass(frozen=True)
class _Reading:
    """The best trees of a chart, from the top down; which rules made a score is found once more where it is needed."""

    grammar: Grammar
    chart: Chart
    words: Sequence[str]

    def tree(self, symbol: int, start: int, last: int) -> Tree:
        bottom = int((self.grammar.chain[symbol] + self.chart.unchained[start, last]).argmax())
        tree = self.unchained(bottom, start, last)
        chain = [symbol]
        while chain[-1] != bottom:
            chain.append(int(self.grammar.chain_step[chain[-1], bottom]))
        return under_top(tuple(self.grammar.symbols[number].label for number in chain[:-1]), tree)

    def unchained(self, symbol: int, start: int, last: int) -> Tree:
        """A leaf, or a constituent with more than one child."""
        label, is_tag, _ = self.grammar.symbols[symbol]
        if is_tag:
            return Tree(label, word=self.words[start])
        return Tree(label, tuple(self.children(symbol, start, last)))

    def children(self, parent: int, start: int, last: int) -> list[Tree]:
        """Of a constituent; the symbols that the binarisation made are none."""
        found = []
        while True:
            rules = self.grammar.rules_of(parent)
            scores = split_scores(self.grammar, rules, self.chart, start, last)
            rule, split = np.unravel_index(scores.argmax(), scores.shape)
            left, parent = (int(side[rules][rule]) for side in (self.grammar.left, self.grammar.right))
            found.append(self.tree(left, start, start + int(split)))
            start += int(split) + 1
            if not self.grammar.symbols[parent].is_made:
                return [*found, self.tree(parent, start, last)]
