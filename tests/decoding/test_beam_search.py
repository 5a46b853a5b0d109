"""Beam search against two oracles that share no code with it: every hypothesis enumerated, and lists that are sorted.

The toy models are tables of log-probabilities that depend on the whole prefix, which the step reads from its cache: a
cache that is not reordered with its hypotheses gives other probabilities.
"""

import itertools
import math
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from transformer_jax.decoding.beam_search import Hypotheses, beam_search

pytestmark = pytest.mark.usefixtures("quick_to_compile")

EOS, PAD, BOS = 1, 0, 2
Ranked = list[tuple[tuple[int, ...], float, float, bool]]  # (ids, score, log P, finished), best first


def random_tables(seed: int, *, batch: int, vocab: int, length: int) -> np.ndarray:
    """Log-probabilities [batch, position, prefix, vocab]; prefix = sum of id_i * vocab**i."""
    logits = 1.5 * np.random.default_rng(seed).normal(size=(batch, length, vocab ** (length - 1), vocab))
    return np.array(jax.nn.log_softmax(logits.astype(np.float32)))


def table_step(tables: jax.Array) -> Callable:
    """A step that looks up the history it finds in its cache [batch, beam, position, 1]."""
    vocab = tables.shape[-1]

    def step(ids, position, history):
        newest = history.at[:, :, position - 1, 0].set(ids)
        history = jnp.where(position == 0, history, newest)
        place_values = jnp.asarray([vocab**i for i in range(history.shape[2])], jnp.int32)
        prefixes = (history[..., 0] * place_values).sum(axis=2, dtype=jnp.int32)
        return jnp.take_along_axis(tables[:, position], prefixes[:, :, None], axis=1), history

    return step


@partial(jax.jit, static_argnames=("beam_size", "alpha", "offset"))
def search(tables, max_lengths, *, beam_size, alpha, offset) -> Hypotheses:
    batch, length = tables.shape[:2]
    history = jnp.zeros((batch, beam_size, length, 1), jnp.int32)
    return beam_search(
        table_step(tables), history, max_lengths,
        beam_size=beam_size, max_steps=length, alpha=alpha, offset=offset, bos_id=BOS, eos_id=EOS, pad_id=PAD,
    )  # fmt: skip


def penalty(length: int, alpha: float, offset: float) -> float:
    return ((offset + length) / (offset + 1)) ** alpha


def row_of(table: np.ndarray, prefix: tuple[int, ...]) -> np.ndarray:
    """The next token's log-probabilities."""
    vocab = table.shape[-1]
    return table[len(prefix), sum(token * vocab**i for i, token in enumerate(prefix))].astype(np.float64)


def log_prob_of(table: np.ndarray, ids: tuple[int, ...]) -> float:
    return sum(row_of(table, ids[:i])[token] for i, token in enumerate(ids))


def enumerated(table: np.ndarray, limit: int, *, alpha: float, offset: float) -> Ranked:
    """Every hypothesis there is: those that end within `limit`, then those cut off at it."""
    vocab = table.shape[-1]
    others = [token for token in range(vocab) if token != EOS]
    bodies = [body for n in range(limit) for body in itertools.product(others, repeat=n)]
    ended = [(*body, EOS) for body in bodies]
    groups = []
    for finished, group in ((True, ended), (False, itertools.product(others, repeat=limit))):
        log_probs = {ids: log_prob_of(table, ids) for ids in group}
        scored = [(ids, lp / penalty(len(ids), alpha, offset), lp, finished) for ids, lp in log_probs.items()]
        groups.append(sorted(scored, key=lambda hypothesis: -hypothesis[1]))
    return groups[0] + groups[1]


def sorted_lists(table: np.ndarray, limit: int, *, beam_size: int, alpha: float, offset: float) -> Ranked:
    """The same search, slowly: one sentence, lists of tuples, a full sort at every turn."""
    live, finished = [(0.0, ())], []
    for length in range(1, limit + 1):
        worst = finished[-1][1] if len(finished) == beam_size else -math.inf
        if not live or live[0][0] / penalty(limit, alpha, offset) <= worst:
            return finished
        extended = [(lp + more, (*ids, token)) for lp, ids in live for token, more in enumerate(row_of(table, ids))]
        extended = sorted(extended, reverse=True)[: 1 if beam_size == 1 else 2 * beam_size]
        ends = [(ids, lp / penalty(length, alpha, offset), lp, True) for lp, ids in extended if ids[-1] == EOS]
        finished = sorted(finished + ends, key=lambda hypothesis: -hypothesis[1])[:beam_size]
        live = [(lp, ids) for lp, ids in extended if ids[-1] != EOS][:beam_size]
    cut_off = [(ids, lp / penalty(limit, alpha, offset), lp, False) for lp, ids in live if ids]
    return (finished + cut_off)[:beam_size]


def as_lists(found: Hypotheses) -> list[Ranked]:
    found = jax.tree.map(np.asarray, found)
    return [
        [
            (tuple(ids[:length].tolist()), score, log_prob, finished)
            for ids, length, score, log_prob, finished in zip(*fields, strict=True)
            if length > 0
        ]
        for fields in zip(*found, strict=True)
    ]


def assert_same(ours: Ranked, expected: Ranked):
    assert [(ids, finished) for ids, _, _, finished in ours] == [(ids, finished) for ids, _, _, finished in expected]
    np.testing.assert_allclose([entry[1:3] for entry in ours], [entry[1:3] for entry in expected], rtol=2e-6)


@pytest.mark.parametrize(("alpha", "offset"), [(0.0, 5.0), (0.6, 5.0), (0.6, 0.0), (2.5, 0.0)])
@pytest.mark.parametrize(("vocab", "length", "beam_size"), [(3, 5, 37), (4, 4, 59)])
def test_a_beam_that_holds_everything_finds_everything_in_order(alpha, offset, vocab, length, beam_size):
    tables = random_tables(vocab, batch=7, vocab=vocab, length=length)
    found = search(tables, np.full(7, length), beam_size=beam_size, alpha=alpha, offset=offset)
    for table, ours in zip(tables, as_lists(found), strict=True):
        assert_same(ours, enumerated(table, length, alpha=alpha, offset=offset)[:beam_size])


@pytest.mark.parametrize("beam_size", [1, 2, 3, 5])
@pytest.mark.parametrize(("alpha", "offset"), [(0.6, 5.0), (1.0, 0.0)])
def test_narrow_beams_agree_with_sorted_lists(beam_size, alpha, offset):
    tables = random_tables(beam_size, batch=41, vocab=5, length=5)
    limits = np.arange(41) % 6
    found = search(tables, limits, beam_size=beam_size, alpha=alpha, offset=offset)
    for table, limit, ours in zip(tables, limits, as_lists(found), strict=True):
        assert_same(ours, sorted_lists(table, limit, beam_size=beam_size, alpha=alpha, offset=offset))


@pytest.fixture(name="ragged")
def _ragged():
    tables = random_tables(11, batch=13, vocab=5, length=5)
    limits = np.asarray([5, 0, 3, 1, 4, 2, 5, 5, 0, 2, 3, 4, 1])
    return tables, limits, search(tables, limits, beam_size=3, alpha=0.6, offset=5.0)


def test_shapes_and_laws_of_the_result(ragged):
    _, limits, found = ragged
    ids, lengths, scores, log_probs, finished = map(np.asarray, found)
    assert ids.shape == (13, 3, 5)
    assert lengths.shape == scores.shape == log_probs.shape == finished.shape == (13, 3)
    assert (lengths <= limits[:, None]).all()
    positions = np.arange(5)
    assert (ids[positions >= lengths[:, :, None]] == PAD).all()
    ends = (ids == EOS) & (positions == lengths[:, :, None] - 1)
    assert (ends.any(axis=2) == finished).all()
    assert (np.where(positions < lengths[:, :, None] - 1, ids, PAD) != EOS).all(), "an end token inside a hypothesis"
    cut_off = ~finished & (lengths > 0)
    assert (lengths[cut_off] == np.repeat(limits[:, None], 3, axis=1)[cut_off]).all()
    assert 0 < finished.sum() < finished.size
    in_order = (scores[:, 1:] <= scores[:, :-1]) | (finished[:, :-1] & ~finished[:, 1:])
    assert in_order.all()


def test_scores_are_those_of_the_whole_hypothesis(ragged):
    """Scored anew from its tokens, the end token counted, each hypothesis has the log P and the score reported."""
    tables, _, found = ragged
    for table, ours in zip(tables, as_lists(found), strict=True):
        for ids, score, log_prob, _ in ours:
            assert log_prob == pytest.approx(log_prob_of(table, ids), rel=2e-6)
            assert score == pytest.approx(log_prob / penalty(len(ids), 0.6, 5.0), rel=2e-6)


def test_a_sentence_does_not_depend_on_its_batch(ragged):
    tables, limits, together = ragged
    for b in range(len(limits)):
        alone = search(tables[b : b + 1], limits[b : b + 1], beam_size=3, alpha=0.6, offset=5.0)
        for ours, theirs in zip(alone, together, strict=True):
            np.testing.assert_array_equal(ours[0], theirs[b])


def test_a_sentence_without_any_token_has_no_hypothesis(ragged):
    _, limits, found = ragged
    empty = jax.tree.map(lambda leaf: np.asarray(leaf)[limits == 0], found)
    assert (empty.ids == PAD).all()
    assert (empty.lengths == 0).all()
    assert (empty.scores == -np.inf).all()
    assert (empty.log_probs == -np.inf).all()
    assert not empty.finished.any()


@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_a_batch_of_nothing_makes_no_step(offset):
    tables = np.full((2, 5, 625, 5), np.nan, np.float32)
    found = search(tables, np.asarray([0, -3]), beam_size=3, alpha=1.0, offset=offset)
    assert (np.asarray(found.scores) == -np.inf).all()
    assert (np.asarray(found.lengths) == 0).all()


def test_limits_beyond_the_buffer_end_with_it():
    """Without an end token in reach, hypotheses fill the buffer, are unfinished, and are scored at its length."""
    tables = random_tables(3, batch=2, vocab=3, length=4)
    tables[..., EOS] = -np.inf
    far, at_the_end = (search(tables, np.full(2, n), beam_size=2, alpha=0.6, offset=5.0) for n in (99, 4))
    assert (np.asarray(far.lengths) == 4).all()
    assert not np.asarray(far.finished).any()
    jax.tree.map(np.testing.assert_array_equal, far, at_the_end)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_double_precision_elsewhere_changes_nothing(ragged, dtype):
    tables, limits, expected = ragged
    with jax.enable_x64(True):
        found = search(tables.astype(dtype), limits, beam_size=3, alpha=0.6, offset=5.0)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
