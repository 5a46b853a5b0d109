"""Whatever a model says, a parse is a tree over the sentence's words; searched for as a tree, it needs no repair."""

import dataclasses
from collections import Counter
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from decoding.small_generator import DECODING, SIZES
from random_params import random_params
from tiny_experiment import tiny_experiment
from trees.made_trees import is_well_formed, random_tree

from transformer_jax.data.tree_inventory import TreeInventory
from transformer_jax.data.vocabulary import learn_vocabulary
from transformer_jax.decoding.generate import Generator, Hypothesis
from transformer_jax.decoding.model_search import make_search
from transformer_jax.decoding.parser import Parser, parse_of, symbols_for, words_of
from transformer_jax.decoding.translator import Translation, Translator
from transformer_jax.decoding.tree_symbols import TreeSymbolError, tree_symbols
from transformer_jax.model.transformer import Transformer
from transformer_jax.special_ids import EOS_ID, PAD_ID
from transformer_jax.trees.linearisation import linearised

pytestmark = pytest.mark.usefixtures("quick_to_compile", "one_device")
INVENTORY = TreeInventory(["NP", "/NP", "NN", "VB"], "NN", {"barks": ["VB"], "dog": ["NN"]}, 1, 2, 0, {})
SENTENCES = ["a dog barks .", "", "dog", "barks barks", "a a a a a a a", "  dog \t barks", "(a) dog", "dog unseen ."]
WORDS = [["a", "dog", "barks", "."], [], ["dog"], ["barks"] * 2, ["a"] * 7, ["dog", "barks"], ["-LRB-a-RRB-", "dog"],
         ["dog", "unseen", "."]]  # fmt: skip


@cache
def learned():
    """A vocabulary, the symbols of trees in it, and a model that has learned nothing."""
    rng = np.random.default_rng(5)
    targets = [" ".join(linearised(random_tree(rng, int(rng.integers(1, 9))))) for _ in range(200)]
    vocabulary = learn_vocabulary([*targets, "a dog barks .", "- - LRB RRB"], 45, merge_across_scripts=True)
    tokens = " ".join(targets).split(" ")
    symbols = tree_symbols(tokens, vocabulary.encode, vocabulary.size, lexicon=INVENTORY.lexicon)
    params = random_params(SIZES, vocabulary.size, seed=4)
    return vocabulary, symbols, Transformer(SIZES, vocabulary.size), params


@cache
def generator(constrained: bool, temperature: float | None = None) -> Generator:
    _, symbols, model, params = learned()
    changes = {"constrained_to_trees": constrained, "sampling_temperature": temperature, "max_extra_length": 24}
    return Generator(model, params, dataclasses.replace(DECODING, **changes), symbols if constrained else None)


def parser(constrained: bool, temperature: float | None = None) -> Parser:
    return Parser(Translator(generator(constrained, temperature), learned()[0]), "tags", INVENTORY)


def said(text: str) -> Translation:
    return Translation([EOS_ID], [Hypothesis([], -1.0, -1.0, True)], [text], [])


def test_words_are_what_blanks_divide_and_hold_no_brackets():
    assert [words_of(sentence) for sentence in SENTENCES] == WORDS
    assert words_of("a\u00a0b c\u2028d\r") == ["a\u00a0b", "c\u2028d"]


@pytest.mark.parametrize(
    ("sentence", "text", "tree", "repairs"),
    [
        ("dog barks", "NP NN VB /NP", "(NP (NN dog) (VB barks))", {}),
        ("dog barks", "NP VB", "(NP (VB dog) (VB barks))", {"closings added": 1, "leaves added": 1}),
        ("dog barks cat", "", "(S (NN dog) (VB barks) (NN cat))", {"leaves added": 3, "roots added": 1}),
        ("dog", "NP  NN \u2047 /NP", "(NP (NN dog))", {"constituents dropped": 1, "closings added": 1}),
        ("(", "NP NN /NP", "(NP (NN -LRB-))", {}),
    ],
)
def test_a_text_is_read_as_the_nearest_tree(sentence, text, tree, repairs):
    """Words left over have their most frequent tag; "\u2047" passes for a label, so that its constituent is empty."""
    parse = parse_of(sentence, said(text), "tags", INVENTORY)
    assert (str(parse.tree), parse.repairs, parse.translation.text) == (tree, repairs, text)


@pytest.mark.parametrize(("leaves", "leaf"), [("blanks", "XX"), ("words", "barks")])
def test_leaves_that_say_no_tag_have_the_most_frequent_one(leaves, leaf):
    assert str(parse_of("barks", said(f"NP {leaf} /NP"), leaves, INVENTORY).tree) == "(NP (VB barks))"


def test_no_words_have_no_tree():
    assert parse_of(" \t", said("NP NN /NP"), "tags", INVENTORY)[:2] == (None, Counter())


@pytest.mark.parametrize("bound", [False, True])
def test_the_inventory_binds_where_the_config_says_so(bound):
    decoding = {"constrained_to_trees": True, "constrained_to_inventory": bound}
    symbols = symbols_for(tiny_experiment(leaves="tags", **decoding), INVENTORY, learned()[0])
    assert (symbols.classes_of(["barks"]) != symbols.classes_of(["dog"])) == bound
    assert (symbols.most_openings == INVENTORY.most_openings) == bound


@pytest.mark.slow
@pytest.mark.parametrize("constrained", [False, True])
def test_each_parse_is_a_tree_over_exactly_the_words(constrained):
    told = []
    parses = parser(constrained).parse(SENTENCES, told.append)
    assert told[-1] == len(SENTENCES)
    for words, parse in zip(WORDS, parses, strict=True):
        assert (parse.tree is None) == (not words)
        if parse.tree is not None:
            assert parse.tree.words() == words
            assert is_well_formed(str(parse.tree))
    assert any(parse.repairs for parse in parses) == (not constrained)
    if constrained:
        assert all(parse.translation.hypothesis.finished for parse in parses)
        leaves = [leaf for parse in parses if parse.tree is not None for leaf in parse.tree.leaves()]
        assert {leaf.label for leaf in leaves if leaf.word == "barks"} == {"VB"}
        assert {leaf.label for leaf in leaves if leaf.word == "dog"} == {"NN"}


@pytest.mark.slow
def test_every_hypothesis_is_a_tree_whether_searched_for_or_drawn():
    for temperature in (None, 2.0):
        parses = parser(True, temperature).parse(SENTENCES)
        texts = [(words, text) for words, parse in zip(WORDS, parses, strict=True) for text in parse.translation.texts]
        assert len(texts) > 2 * len(SENTENCES)
        for words, text in texts:
            if words:
                assert parse_of(" ".join(words), said(text), "tags", INVENTORY).repairs == {}


@pytest.mark.slow
def test_the_constraint_changes_no_score():
    """Log P of what is found is what the model says of it, whatever else it would rather have said."""
    _, _, model, params = learned()
    parses = parser(True).parse([sentence for sentence in SENTENCES if sentence])

    @jax.jit
    def log_probs(source, target):
        return jax.nn.log_softmax(model.apply({"params": params}, source, target, deterministic=True))

    for parse in parses:
        best = parse.translation.hypothesis
        target = [*best.ids, EOS_ID]
        rows = [ids + [PAD_ID] * (31 - len(ids)) for ids in (parse.translation.source, target)]
        expected = log_probs(*(jnp.array([row]) for row in rows))[0][jnp.arange(len(target)), jnp.array(target)].sum()
        assert best.log_prob == pytest.approx(float(expected), abs=1e-4)


def test_words_mean_nothing_where_trees_are_not_asked_for():
    sources = [[5, 6, EOS_ID], [7, EOS_ID]]
    plain = generator(False)
    assert plain.generate(sources, words=[["a"] * 9, ["b"] * 9]) == plain.generate(sources)


def test_a_search_for_trees_is_never_one_for_anything():
    _, symbols, model, params = learned()
    constrained = dataclasses.replace(DECODING, constrained_to_trees=True)
    with pytest.raises(TreeSymbolError, match="constrained_to_trees = True: only a parser can search for trees"):
        Generator(model, params, constrained)
    with pytest.raises(TreeSymbolError, match="constrained_to_trees"):
        make_search(model, constrained, max_steps=5)
    with pytest.raises(ValueError, match="needs the words"):
        Generator(model, params, constrained, symbols).generate([[5, EOS_ID]])
    with pytest.raises(ValueError, match="shorter"):
        Generator(model, params, constrained, symbols).generate([[5, EOS_ID], [6, EOS_ID]], words=[["a"]])
