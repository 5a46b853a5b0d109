"""Constrained to trees: the pieces that may follow are those of some tree, and whatever is found is one."""

import itertools
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from decoding.toy_search import rules
from trees.made_trees import random_tree

from transformer_jax.data.vocabulary import learn_vocabulary
from transformer_jax.decoding.beam_search import Live, Rules, beam_search, last_ids
from transformer_jax.decoding.constraints import constrained, without
from transformer_jax.decoding.hypotheses import Hypotheses
from transformer_jax.decoding.tree_constraint import tree_constraint
from transformer_jax.decoding.tree_symbols import TreeSymbols, tree_symbols
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID
from transformer_jax.trees.linearisation import linearised
from transformer_jax.trees.repair import repaired

pytestmark = pytest.mark.usefixtures("quick_to_compile")
# Symbols that begin alike, of one to three pieces; turned round, they end alike.
SPELLED = {"S": (4,), "SQ": (4, 5), "/S": (6, 7), "/SQ": (6, 7, 5), "NN": (8,), "VB": (8, 7)}
VOCAB = 10
TURNED = {token: ids[::-1] for token, ids in SPELLED.items()}
MOST_OPENINGS = 2  # where the limit leaves room for more
LEXICON = {"dog": ["NN"], "barks": ["VB"], "walks": ["VB", "NN"]}


def toy_symbols(spelled: dict[str, tuple[int, ...]]) -> TreeSymbols:
    def encode(text):
        return [id for token in text.split(" ") for id in spelled[token]]

    return tree_symbols(spelled, encode, VOCAB, lexicon=LEXICON, most_openings=MOST_OPENINGS)


def classes_of(symbols: TreeSymbols, *sentences: str) -> jax.Array:
    """A row each, one longer than the longest."""
    rows = [symbols.classes_of(sentence.split()) for sentence in sentences]
    return jnp.array([row + [-1] * (max(map(len, rows)) + 1 - len(row)) for row in rows])


@cache
def forests(words: tuple[str, ...], room: int, turned: bool, openings: int) -> frozenset[tuple[int, ...]]:
    """All sequences of trees over the words, in at most `room` pieces; as many constituents may begin at the first."""
    if not words or room <= 0:
        return frozenset([] if words else [()])
    found = set()
    for first in range(1, len(words) + 1):
        for one in trees(words[:first], room, turned, openings):
            found |= {one + rest for rest in forests(words[first:], room - len(one), turned, MOST_OPENINGS)}
    return frozenset(found)


@cache
def trees(words: tuple[str, ...], room: int, turned: bool, openings: int = MOST_OPENINGS) -> frozenset[tuple[int, ...]]:
    spelled = TURNED if turned else SPELLED
    tags = LEXICON.get(words[0], ["NN", "VB"]) if len(words) == 1 else []
    found = {spelled[tag] for tag in tags if len(spelled[tag]) <= room}
    for label in ("S", "SQ"):
        opening, closing = spelled[label], spelled[f"/{label}"]
        inner = room - len(opening) - len(closing)
        if inner > 0 and openings > 0:
            found |= {opening + body + closing for body in forests(words, inner, turned, openings - 1)}
    return frozenset(found)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("words", "limit"),
    [("any", 13), ("any any", 14), ("any any any", 12), ("any any any any", 10), ("dog", 13), ("barks", 12),
     ("dog barks", 14), ("barks walks dog", 12), ("any barks barks", 12), ("barks any dog barks", 11)],
)  # fmt: skip
def test_exactly_what_some_tree_says_may_follow(words, limit, turned):
    """After each beginning of each tree that there is: the pieces, and the ends, of all trees that begin like it.

    A dog is a noun of one piece, "barks" a verb of two, and "walks", as any other word, may be either.
    """
    whole = {(*tree, EOS_ID) for tree in trees(tuple(words.split()), limit - 1, turned)}
    assert whole
    following: dict[tuple[int, ...], set[int]] = {}
    for ids in whole:
        for length in range(len(ids)):
            following.setdefault(ids[:length], set()).add(ids[length])
    symbols = toy_symbols(TURNED if turned else SPELLED)
    groups = [list(group) for _, group in itertools.groupby(sorted(following, key=len), key=len)]
    beams = max(map(len, groups))

    @jax.jit
    def left(ids, position):
        live = Live(jnp.zeros(1, jnp.int32), ids, jnp.zeros((1, beams)), jnp.zeros_like(ids))
        constraint = tree_constraint(symbols, classes_of(symbols, words), jnp.asarray([limit]), EOS_ID)
        return constraint(jnp.zeros((1, beams, VOCAB)), live, position)

    for length, beginnings in enumerate(groups):
        ids = np.full((1, beams, limit), PAD_ID, np.int32)
        ids[0, : len(beginnings), :length] = beginnings
        masks = np.asarray(left(ids, length))[0, : len(beginnings)]
        assert [set(np.flatnonzero(mask == 0)) for mask in masks] == [following[ids] for ids in beginnings]
        assert set(np.unique(masks)) <= {0, -np.inf}


def found_by(table, symbols, classes, limits, search_rules: Rules, max_steps: int) -> Hypotheses:
    """The trees that a model finds which knows the position and the newest token alone."""

    @jax.jit
    def search(table, classes, limits):
        def step(live, position, cache):
            return table[position][last_ids(live, position, BOS_ID)], cache

        step = constrained(step, without(PAD_ID, BOS_ID), tree_constraint(symbols, classes, limits, EOS_ID))
        return beam_search(step, jnp.zeros(()), limits, search_rules, max_steps=max_steps)

    return jax.tree.map(np.asarray, search(table, classes, limits))


def random_table(seed: int, steps: int, vocab: int) -> jax.Array:
    logits = 2 * np.random.default_rng(seed).normal(size=(steps, vocab, vocab))
    return jax.nn.log_softmax(jnp.asarray(logits, jnp.float32))


def test_a_wide_search_finds_every_tree():
    """And none twice, and nothing else; where none fits within the limit, nothing."""
    sentences = [
        "any",
        "any any",
        "any any any",
        "barks dog any",
        "any any",
        "any any any",
        "any any any any",
        "barks barks",
    ]
    symbols, limits = toy_symbols(SPELLED), np.array([8, 9, 9, 9, 5, 6, 7, 7])
    search_rules = Rules(**{**vars(rules(beam_size=150)), "bos_id": BOS_ID, "eos_id": EOS_ID, "pad_id": PAD_ID})
    found = found_by(random_table(1, 9, VOCAB), symbols, classes_of(symbols, *sentences), limits, search_rules, 9)
    assert not (~found.finished & (found.lengths > 0)).any()
    wanted = [
        trees(tuple(words.split()), int(limit) - 1, False) for words, limit in zip(sentences, limits, strict=True)
    ]
    for row, these in enumerate(wanted):
        ids = [tuple(ids[: n - 1]) for ids, n in zip(found.ids[row], found.lengths[row], strict=True) if n]
        assert len(ids) == len(set(ids))
        assert set(ids) == these
    assert [len(these) > 0 for these in wanted] == [True] * 4 + [False] * 4


@cache
def learned():
    rng = np.random.default_rng(2)
    targets = [" ".join(linearised(random_tree(rng, int(rng.integers(1, 9))))) for _ in range(200)]
    vocabulary = learn_vocabulary([*targets, "a dog barks", "the paper has a table"], 40)
    lexicon = {"w1": ["NN"], "w2": ["VB", "."], "w3": ["VB"]}
    symbols = tree_symbols(" ".join(targets).split(" "), vocabulary.encode, vocabulary.size, lexicon=lexicon)
    return vocabulary, symbols, lexicon


@pytest.mark.parametrize("stop", ["bound", "first_finished"])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_no_tree_that_a_random_model_finds_needs_repair(stop, beam_size):
    """Pieces of a learned vocabulary; limits from the tightest in which a tree fits."""
    vocabulary, symbols, lexicon = learned()
    assert symbols.lengths.max() > 1
    rng = np.random.default_rng(3)
    sentences = [[f"w{i}" for i in range(length)] for length in rng.integers(1, 15, 60)]
    leaves = np.array([symbols.shortest_leaves[symbols.classes_of(words)].sum() for words in sentences])
    tightest = leaves + 1 + (symbols.lengths + symbols.closing_lengths)[symbols.kinds == 0].min()
    limits = tightest + rng.choice([0, 1, 2, 3, 5, 30], 60)
    search_rules = Rules(beam_size, 0.3, 5.0, stop, BOS_ID, EOS_ID, PAD_ID)
    table = random_table(beam_size, int(limits.max()), vocabulary.size)
    classes = classes_of(symbols, *map(" ".join, sentences))
    found = found_by(table, symbols, classes, limits, search_rules, int(limits.max()))
    assert found.finished[:, 0].all()
    for row, beam in zip(*np.nonzero(found.lengths), strict=True):
        ids = found.ids[row, beam, : found.lengths[row, beam] - 1]
        tokens = vocabulary.decode(ids.tolist()).split(" ")
        tree, repairs = repaired(tokens, sentences[row])
        assert found.finished[row, beam]
        assert not repairs
        assert all(leaf.label in lexicon.get(leaf.word, [leaf.label]) for leaf in tree.leaves())
