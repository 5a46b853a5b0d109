"""The grammar read off trees: by hand, against the plainest search for the best tree, and on GENIA."""

import gzip
import itertools
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from transformer_jax.analysis.parsing_baselines.grammar import Symbol, read_grammar
from transformer_jax.analysis.parsing_baselines.pcfg import Pcfg, parse_all, read_pcfg
from transformer_jax.analysis.parsing_baselines.right_branching import read_right_branching
from transformer_jax.analysis.parsing_baselines.tops import divide_top
from transformer_jax.metrics.bracketing.score import bracketing_score
from transformer_jax.trees.bracket_files import parse_tree, parse_trees
from transformer_jax.trees.tree import Tree

TRAINING = [
    parse_tree(text)
    for text in (
        "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks)) (. .)))",
        "(TOP (S (NP (NN rain)) (VP (VBZ falls) (ADVP (RB down) (PP (IN on) (NP (DT the) (JJ red) (NN sea))))) (. .)))",
        "(TOP (S (NP (PRP it)) (VP (VBZ sees) (NP (NP (DT the) (NN cat)) (PP (IN on) (NP (NN grass)))))))",
        "(TOP (S (S (NP (NN rain)) (VP (VBZ falls))) (CC and) (S (NP (PRP it)) (VP (VBZ sees) (NP (NN sea)))) (. .)))",
        "(TOP (NP (NP (NN grass)) (: ;) (NP (DT a) (JJ red) (JJ wet) (NN barks))))",
        "(TOP (FRAG (VP (VBZ barks))))",
    )
]
SENTENCES = [
    "it sees the cat",
    "rain falls on grass",
    "the red dog barks .",
    "barks",
    "it barks and rain sees it",
    "a cat",
]


def rules_of(trees: list[Tree]) -> Counter[tuple[Symbol, tuple[Symbol, ...]]]:
    """Whole rules below the tops of trees."""
    found: Counter[tuple[Symbol, tuple[Symbol, ...]]] = Counter()
    for tree in trees:
        for kind, node in divide_top(tree)[1].walk():
            if kind == "opening":
                found[Symbol(node.label), tuple(Symbol(child.label, child.is_leaf) for child in node.children)] += 1
    return found


class PlainParser:
    """The most probable tree with whole rules, found by trying every rule over every division of a span."""

    def __init__(self, pcfg: Pcfg, trees: list[Tree]):
        rules = rules_of(trees)
        uses: Counter[Symbol] = Counter()
        for (parent, _), count in rules.items():
            uses[parent] += count
        self.rules = {rule: math.log(count / uses[rule[0]]) for rule, count in rules.items()}
        self.lexicon, self.tops = pcfg.lexicon, Counter(divide_top_names(tree) for tree in trees)

    def best(self, words: list[str]) -> float:
        self.words = words
        self.known: dict[Any, float] = {}
        return max(
            math.log(count / self.tops.total()) + self.span(below, 0, len(words), chained=False)
            for (_, below), count in self.tops.items()
        )

    def span(
        self, symbol: Symbol, start: int, end: int, *, chained: bool, above: frozenset[Symbol] = frozenset()
    ) -> float:
        key = (symbol, start, end, chained, above)
        if key not in self.known:
            self.known[key] = self.unknown_span(symbol, start, end, chained, above)
        return self.known[key]

    def unknown_span(self, symbol: Symbol, start: int, end: int, chained: bool, above: frozenset[Symbol]) -> float:
        if symbol.is_tag:
            scores = self.lexicon.log_scores(self.words[start])
            return float(scores[self.lexicon.tags.index(symbol.label)]) if end == start + 1 else -math.inf
        scores = [-math.inf]
        for (parent, children), weight in self.rules.items():
            if parent == symbol and len(children) > 1:
                for cuts in itertools.combinations(range(start + 1, end), len(children) - 1):
                    bounds = zip(children, (start, *cuts), (*cuts, end), strict=True)
                    scores.append(weight + sum(self.span(*bound, chained=True) for bound in bounds))
            elif parent == symbol and chained and children[0] not in above | {symbol}:
                scores.append(weight + self.span(children[0], start, end, chained=True, above=above | {symbol}))
        return max(scores)


def divide_top_names(tree: Tree) -> tuple[tuple[str, ...], Symbol]:
    labels, below = divide_top(tree)
    return labels, Symbol(below.label, below.is_leaf)


def log_probability(tree: Tree, plain: PlainParser) -> float:
    """Of a tree with the rules, the top and the words that it has."""
    top = math.log(plain.tops[divide_top_names(tree)] / plain.tops.total())
    words = sum(plain.lexicon.log_scores(leaf.word)[plain.lexicon.tags.index(leaf.label)] for leaf in tree.leaves())
    return top + words + sum(plain.rules[rule] * count for rule, count in rules_of([tree]).items())


@pytest.fixture(scope="module")
def exact() -> Pcfg:
    return read_pcfg(TRAINING, horizontal=None)


def test_the_binarised_grammar_gives_whole_rules_their_relative_frequencies(exact):
    grammar, plain = exact.grammar, PlainParser(exact, TRAINING)
    weights = {
        (*(grammar.symbols[number] for number in rule),): float(weight)
        for *rule, weight in zip(grammar.parent, grammar.left, grammar.right, grammar.log_probability, strict=True)
    }
    longest = 0
    for (parent, children), expected in plain.rules.items():
        if len(children) < 2:
            continue
        symbol, total = parent, 0.0
        for end in range(1, len(children) - 1):
            rest = Symbol(parent.label, before=children[:end])
            total += weights[symbol, children[end - 1], rest]
            symbol = rest
        assert total + weights[symbol, *children[-2:]] == pytest.approx(expected, abs=1e-5)
        longest = max(longest, len(children))
    assert longest == 4


@pytest.mark.parametrize("horizontal", [1, 2, None])
def test_each_symbol_shares_out_its_whole_probability(horizontal):
    """Unary rules that are on no better chain stand in `chain` as they are."""
    grammar = read_grammar(TRAINING, horizontal)
    sums = np.zeros(len(grammar.symbols))
    np.add.at(sums, grammar.parent, np.exp(grammar.log_probability))
    made = [symbol.is_made for symbol in grammar.symbols]
    np.testing.assert_allclose(sums[made], 1.0, rtol=1e-6)
    direct = Counter(rule for rule in rules_of(TRAINING).elements() if len(rule[1]) == 1)
    for (parent, (child,)), count in direct.items():
        uses = sum(n for (symbol, _), n in rules_of(TRAINING).items() if symbol == parent)
        numbers = grammar.symbols.index(parent), grammar.symbols.index(child)
        assert grammar.chain[numbers] >= np.float32(math.log(count / uses)) - 1e-6
        sums[numbers[0]] += count / uses
    labels = [number for number in range(grammar.num_labels) if sums[number] > 0]
    assert [grammar.symbols[number].label for number in labels] == ["ADVP", "NP", "PP", "S", "VP"]
    np.testing.assert_allclose(sums[labels], 1.0, rtol=1e-6)


def test_a_limited_memory_joins_symbols():
    tree = parse_tree("(S (A a) (B b) (A a) (B b) (A a) (B b))")
    histories = [
        ["".join(child.label for child in symbol.before) for symbol in read_grammar([tree], horizontal).symbols]
        for horizontal in (1, 2, None)
    ]
    assert [sorted(filter(None, names)) for names in histories] == [
        ["A", "B"],
        ["A", "AB", "BA"],
        ["A", "AB", "ABA", "ABAB"],
    ]
    with pytest.raises(ValueError, match="horizontal=0"):
        read_grammar(TRAINING, 0)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_tree_is_the_most_probable_one(exact, sentence):
    words, plain = sentence.split(), PlainParser(exact, TRAINING)
    tree = exact.parse(words)
    assert tree.words() == words
    assert log_probability(tree, plain) == pytest.approx(plain.best(words), abs=1e-4)


def test_chains_of_unary_rules_are_found_and_written_out():
    trees = [parse_tree("(S (A (B (C (D (X x))))) (E (X x)))"), parse_tree("(S (A (Y y)) (E (Y y)))")]
    assert str(read_pcfg(trees).parse(["x", "x"])) == str(trees[0])
    assert str(read_pcfg(trees).parse(["y", "x"])) == "(S (A (Y y)) (E (X x)))"


def test_a_label_and_a_tag_of_one_name_are_two_symbols():
    tree = parse_tree("(X (X (X a) (Y b)) (Y (X a) (X a)))")
    assert str(read_pcfg([tree]).parse(["a", "b", "a", "a"])) == str(tree)


def test_sentences_without_a_tree_and_long_ones_are_left_to_the_other():
    training = [parse_tree("(TOP (S (A a) (B b) (C c)))"), parse_tree("(TOP (S (A a) (B b) (C c) (D d) (E e) (F f)))")]
    pcfg, other = read_pcfg(training), read_right_branching(training)
    sentences = [["a", "b", "c"], ["a", "b"], ["a", "b", "c", "d", "e", "f"], ["a", "b", "c"]]
    assert [pcfg.parse(words) is None for words in sentences] == [False, True, False, False]
    trees, others = parse_all(pcfg, other.parse, sentences, max_words=5)
    assert trees == [training[0], other.parse(sentences[1]), other.parse(sentences[2]), training[0]]
    assert others == 2


def read_genia(path: Any) -> Iterator[Tree]:
    return parse_trees(gzip.decompress(path.read_bytes()).decode().split("\n")[:-1], path.name)


@pytest.mark.slow
def test_genia(shared):
    """On 60 sentences of its test set: the grammar's F1 is near what is known of such grammars, 70 to 75 points."""
    folder = shared / "data/treebank/genia"
    training, test = list(read_genia(folder / "train.trees.gz")), list(read_genia(folder / "test.trees.gz"))[:60]
    right = read_right_branching(training)
    trees, others = parse_all(read_pcfg(training), right.parse, [tree.words() for tree in test])
    grammar, plain = (
        bracketing_score([(tree,) for tree in test], [(tree,) for tree in parsed]).all.counts.f1
        for parsed in (trees, [right.parse(tree.words()) for tree in test])
    )
    assert others == 0
    assert 70 < grammar < 82
    assert 10 < plain < 30
