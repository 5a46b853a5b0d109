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


def toy_symbols(spelled: dict[str, tuple[int, ...]]) -> TreeSymbols:
    return tree_symbols(spelled, lambda text: [id for token in text.split(" ") for id in spelled[token]], VOCAB)


@cache
def forests(words: int, room: int, turned: bool) -> frozenset[tuple[int, ...]]:
    """All sequences of trees over so many words in all, in at most `room` pieces."""
    if words == 0 or room <= 0:
        return frozenset([()] if words == 0 else [])
    found = set()
    for first in range(1, words + 1):
        for one in trees(first, room, turned):
            found |= {one + rest for rest in forests(words - first, room - len(one), turned)}
    return frozenset(found)


@cache
def trees(words: int, room: int, turned: bool) -> frozenset[tuple[int, ...]]:
    spelled = TURNED if turned else SPELLED
    found = {spelled[tag] for tag in ("NN", "VB") if words == 1 and len(spelled[tag]) <= room}
    for label in ("S", "SQ"):
        opening, closing = spelled[label], spelled[f"/{label}"]
        inner = room - len(opening) - len(closing)
        if inner > 0:
            found |= {opening + body + closing for body in forests(words, inner, turned)}
    return frozenset(found)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("words", "limit"), [(1, 13), (2, 14), (3, 12), (4, 10)])
def test_exactly_what_some_tree_says_may_follow(words, limit, turned):
    """After each beginning of each tree that there is: the pieces, and the ends, of all trees that begin like it."""
    whole = {(*tree, EOS_ID) for tree in trees(words, limit - 1, turned)}
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
        constraint = tree_constraint(symbols, jnp.asarray([words]), jnp.asarray([limit]), EOS_ID)
        return constraint(jnp.zeros((1, beams, VOCAB)), live, position)

    for length, beginnings in enumerate(groups):
        ids = np.full((1, beams, limit), PAD_ID, np.int32)
        ids[0, : len(beginnings), :length] = beginnings
        masks = np.asarray(left(ids, length))[0, : len(beginnings)]
        assert [set(np.flatnonzero(mask == 0)) for mask in masks] == [following[ids] for ids in beginnings]
        assert set(np.unique(masks)) <= {0, -np.inf}


def found_by(table, symbols, words, limits, search_rules: Rules, max_steps: int) -> Hypotheses:
    """The trees that a model finds which knows the position and the newest token alone."""

    @jax.jit
    def search(table, words, limits):
        def step(live, position, cache):
            return table[position][last_ids(live, position, BOS_ID)], cache

        step = constrained(step, without(PAD_ID, BOS_ID), tree_constraint(symbols, words, limits, EOS_ID))
        return beam_search(step, jnp.zeros(()), limits, search_rules, max_steps=max_steps)

    return jax.tree.map(np.asarray, search(table, words, limits))


def random_table(seed: int, steps: int, vocab: int) -> jax.Array:
    logits = 2 * np.random.default_rng(seed).normal(size=(steps, vocab, vocab))
    return jax.nn.log_softmax(jnp.asarray(logits, jnp.float32))


def test_a_wide_search_finds_every_tree():
    """And none twice, and nothing else; where none fits within the limit, nothing."""
    words, limits = np.array([1, 2, 3, 2, 3, 4]), np.array([8, 9, 9, 5, 6, 7])
    search_rules = Rules(**{**vars(rules(beam_size=150)), "bos_id": BOS_ID, "eos_id": EOS_ID, "pad_id": PAD_ID})
    found = found_by(random_table(1, 9, VOCAB), toy_symbols(SPELLED), words, limits, search_rules, 9)
    assert not (~found.finished & (found.lengths > 0)).any()
    for row, (count, limit) in enumerate(zip(words, limits, strict=True)):
        ids = [tuple(ids[: n - 1]) for ids, n in zip(found.ids[row], found.lengths[row], strict=True) if n]
        assert len(ids) == len(set(ids))
        assert set(ids) == trees(int(count), int(limit) - 1, False)
    assert [len(trees(int(n), int(limit) - 1, False)) > 0 for n, limit in zip(words, limits, strict=True)] == [
        True, True, True, False, False, False,
    ]  # fmt: skip


@cache
def learned():
    rng = np.random.default_rng(2)
    targets = [" ".join(linearised(random_tree(rng, int(rng.integers(1, 9))))) for _ in range(200)]
    vocabulary = learn_vocabulary([*targets, "a dog barks", "the paper has a table"], 40)
    symbols = tree_symbols(" ".join(targets).split(" "), vocabulary.encode, vocabulary.size)
    return vocabulary, symbols


@pytest.mark.parametrize("stop", ["bound", "first_finished"])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_no_tree_that_a_random_model_finds_needs_repair(stop, beam_size):
    """Pieces of a learned vocabulary; limits from the tightest in which a tree fits."""
    vocabulary, symbols = learned()
    assert symbols.lengths.max() > 1
    rng = np.random.default_rng(3)
    words = rng.integers(1, 15, 60)
    tightest = words * symbols.shortest_leaf + 1 + (symbols.lengths + symbols.closing_lengths)[symbols.kinds == 0].min()
    limits = tightest + rng.choice([0, 1, 2, 3, 5, 30], 60)
    search_rules = Rules(beam_size, 0.3, 5.0, stop, BOS_ID, EOS_ID, PAD_ID)
    table = random_table(beam_size, int(limits.max()), vocabulary.size)
    found = found_by(table, symbols, words, limits, search_rules, int(limits.max()))
    assert found.finished[:, 0].all()
    for row, beam in zip(*np.nonzero(found.lengths), strict=True):
        ids = found.ids[row, beam, : found.lengths[row, beam] - 1]
        tokens = vocabulary.decode(ids.tolist()).split(" ")
        sentence = [f"w{i}" for i in range(words[row])]
        assert found.finished[row, beam]
        assert not repaired(tokens, sentence).repairs
