"""Toy models for searches, and two oracles that share no code with the search: all hypotheses, and sorted lists.

A toy is a table of log-probabilities that depend on the whole prefix. Its end token, id 1, may have any; the others,
0 among them, are ordinary tokens.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from transformer_jax.decoding.beam_search import Live, Rules, beam_search
from transformer_jax.decoding.hypotheses import Hypotheses

EOS, PAD, BOS = 1, 0, 2
Ranked = list[tuple[tuple[int, ...], float, float, bool]]  # (ids, score, log P, finished), best first
PLAIN = Rules(beam_size=3, alpha=0.6, offset=5.0, stop="bound", bos_id=BOS, eos_id=EOS, pad_id=PAD)


def rules(**changes: Any) -> Rules:
    return replace(PLAIN, **changes)


def random_tables(seed: int, *, batch: int, vocab: int, length: int) -> np.ndarray:
    """Log-probabilities [batch, position, prefix, vocab]; prefix = sum of id_i * vocab**i."""
    logits = 1.5 * np.random.default_rng(seed).normal(size=(batch, length, vocab ** (length - 1), vocab))
    return np.array(jax.nn.log_softmax(logits.astype(np.float32)))


def look_up(tables: jax.Array, ids: jax.Array, position: jax.Array) -> jax.Array:
    """The log-probabilities [batch, beam, vocab] after the first `position` of `ids`."""
    vocab, steps = tables.shape[-1], ids.shape[2]
    place_values = jnp.asarray([vocab**i for i in range(steps)], jnp.int32)
    past = jnp.where(jnp.arange(steps) < position, ids, 0)
    prefixes = (past * place_values).sum(axis=2, dtype=jnp.int32)
    return jnp.take_along_axis(jnp.asarray(tables)[:, position], prefixes[:, :, None], axis=1)


def lane_step(tables: jax.Array) -> Callable:
    """A step that knows the past from its cache [batch, lane, position] alone: each token in the lane it was fed to.

    Were a lane mistaken, other probabilities would be found.
    """

    def step(live: Live, position: jax.Array, cache: jax.Array) -> tuple[jax.Array, jax.Array]:
        newest = jax.lax.dynamic_index_in_dim(live.ids, position - 1, axis=2, keepdims=False)
        cache = cache.at[:, :, position].set(jnp.where(position == 0, BOS, newest))
        fed = jnp.take_along_axis(cache, live.lanes, axis=1)
        return look_up(tables, jnp.roll(fed, -1, axis=2), position), cache

    return step


def empty_cache(batch: int, beam: int, length: int) -> jax.Array:
    return jnp.full((batch, beam, length), -1, jnp.int32)


@partial(jax.jit, static_argnames="rules")
def found_in(tables: jax.Array, limits: jax.Array, rules: Rules) -> Hypotheses:
    """The search of a batch of toys."""
    batch, length = tables.shape[:2]
    cache = empty_cache(batch, rules.beam_size, length)
    return beam_search(lane_step(tables), cache, limits, rules, max_steps=length)


def penalty(length: int, rules: Rules) -> float:
    return ((rules.offset + length) / (rules.offset + 1)) ** rules.alpha


def row_of(table: np.ndarray, prefix: tuple[int, ...]) -> np.ndarray:
    """The next token's log-probabilities."""
    vocab = table.shape[-1]
    return table[len(prefix), sum(token * vocab**i for i, token in enumerate(prefix))].astype(np.float64)


def log_prob_of(table: np.ndarray, ids: tuple[int, ...]) -> float:
    return sum(row_of(table, ids[:i])[token] for i, token in enumerate(ids))


def enumerated(table: np.ndarray, limit: int, rules: Rules, beginning: tuple[int, ...] = ()) -> Ranked:
    """Every hypothesis there is: those that end within `limit`, then those cut off at it, each best first."""
    others = [token for token in range(table.shape[-1]) if token != EOS]
    room = limit - len(beginning)
    bodies = [body for n in range(room) for body in itertools.product(others, repeat=n)]
    ended = [(*beginning, *body, EOS) for body in bodies]
    cut_off = [(*beginning, *body) for body in itertools.product(others, repeat=room)]
    ranked = []
    for finished, group in ((True, ended), (False, cut_off)):
        log_probs = {ids: log_prob_of(table, ids) for ids in group}
        scored = [(ids, lp / penalty(len(ids), rules), lp, finished) for ids, lp in log_probs.items() if lp > -math.inf]
        ranked += sorted(scored, key=lambda hypothesis: -hypothesis[1])
    return ranked


def sorted_lists(table: np.ndarray, limit: int, rules: Rules) -> Ranked:
    """The same search, slowly: one sentence, lists of tuples, a full sort at every turn."""
    beam = rules.beam_size
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    finished: Ranked = []
    for length in range(1, limit + 1):
        if not live or stops(live, finished, limit, rules):
            return finished
        extended = [(lp + more, (*ids, token)) for lp, ids in live for token, more in enumerate(row_of(table, ids))]
        extended = [candidate for candidate in extended if candidate[0] > -math.inf]
        extended = sorted(extended, key=lambda candidate: -candidate[0])[: 1 if beam == 1 else 2 * beam]
        counted = extended if rules.stop == "bound" else extended[:beam]
        ends = [(ids, lp / penalty(length, rules), lp, True) for lp, ids in counted if ids[-1] == EOS]
        finished = sorted(finished + ends, key=lambda hypothesis: -hypothesis[1])[:beam]
        live = [(lp, ids) for lp, ids in extended if ids[-1] != EOS][:beam]
    cut_off = [(ids, lp / penalty(limit, rules), lp, False) for lp, ids in live if ids]
    return (finished + cut_off)[:beam]


def stops(live: list[tuple[float, tuple[int, ...]]], finished: Ranked, limit: int, rules: Rules) -> bool:
    if rules.stop == "first_finished":
        return len(finished) > 0
    if len(finished) < rules.beam_size:
        return False
    return rules.stop == "beam_finished" or live[0][0] / penalty(limit, rules) <= finished[-1][1]


def as_lists(found: Hypotheses) -> list[Ranked]:
    """Of each sentence, what its slots hold."""
    fields = jax.tree.map(np.asarray, found)
    return [
        [
            (tuple(ids[:length].tolist()), score, log_prob, finished)
            for ids, length, score, log_prob, finished in zip(*row, strict=True)
            if length > 0
        ]
        for row in zip(*fields, strict=True)
    ]


def assert_same(ours: Ranked, expected: Ranked) -> None:
    assert [(ids, finished) for ids, _, _, finished in ours] == [(ids, finished) for ids, _, _, finished in expected]
    np.testing.assert_allclose([entry[1:3] for entry in ours], [entry[1:3] for entry in expected], rtol=2e-6)
