"""Beam search where the right answer can be worked out by hand: the next token depends on the last one alone."""

import itertools
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from transformer_jax.decoding.beam_search import Hypotheses, beam_search

pytestmark = pytest.mark.usefixtures("quick_to_compile")

EOS, PAD, BOS = 1, 0, 2
Ranked = list[tuple[tuple[int, ...], float, float, bool]]  # (ids, score, log P, finished), best first


def penalty(length: int, alpha: float, offset: float) -> float:
    return ((offset + length) / (offset + 1)) ** alpha


@partial(jax.jit, static_argnames=("beam_size", "max_steps", "alpha", "offset"))
def markov_hypotheses(
    transitions: jax.Array, *, beam_size: int = 2, max_steps: int = 7, alpha: float = 0.0, offset: float = 5.0
) -> Hypotheses:
    """Of one sentence; its step needs no cache."""
    log_probs = jnp.log(transitions.astype(jnp.float32))
    return beam_search(
        lambda ids, _, cache: (log_probs[ids], cache), (), jnp.full(1, max_steps),
        beam_size=beam_size, max_steps=max_steps, alpha=alpha, offset=offset, bos_id=BOS, eos_id=EOS, pad_id=PAD,
    )  # fmt: skip


def ranked_of(found: Hypotheses) -> Ranked:
    ids, lengths, scores, log_probs, finished = (np.asarray(field)[0] for field in found)
    filled = range(np.count_nonzero(lengths))
    return [(tuple(ids[i, : lengths[i]].tolist()), scores[i], log_probs[i], finished[i]) for i in filled]


def markov_search(transitions: np.ndarray, **settings) -> Ranked:
    return ranked_of(markov_hypotheses(transitions, **settings))


@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_one_is_greedy(seed):
    transitions = np.random.default_rng(seed).dirichlet(np.ones(11), size=11)
    chain = [BOS]
    while len(chain) <= 7 and chain[-1] != EOS:
        chain.append(int(transitions[chain[-1]].argmax()))
    ((ids, _, log_prob, finished),) = markov_search(transitions, beam_size=1, alpha=0.6)
    assert ids == tuple(chain[1:])
    assert finished == (chain[-1] == EOS)
    expected = sum(math.log(transitions[a, b]) for a, b in itertools.pairwise(chain))
    assert log_prob == pytest.approx(expected, rel=2e-6)


def patient_transitions() -> np.ndarray:
    """Three hypotheses: "end" 0.5, "3 end" 0.3, and "3 4 5 6 7 8 end" 0.2, which is certain from 4 on."""
    transitions = np.zeros((9, 9))
    transitions[BOS, [EOS, 3]] = 0.5
    transitions[3, [EOS, 4]] = 0.6, 0.4
    transitions[[4, 5, 6, 7, 8], [5, 6, 7, 8, EOS]] = 1.0
    return transitions


@pytest.mark.parametrize(("alpha", "offset"), [(1.0, 0.0), (3.0, 5.0)])
def test_a_longer_hypothesis_that_wins_is_waited_for(alpha, offset):
    """After two steps both slots hold a finished hypothesis, and each beats the live one as it stands then.

    With alpha 1 and offset 0: -0.69 and -0.60 against log 0.2 / 2 = -0.80, which ends as log 0.2 / 7 = -0.23.
    """
    first, _ = markov_search(patient_transitions(), alpha=alpha, offset=offset)
    assert first[0] == (3, 4, 5, 6, 7, 8, EOS)
    assert first[1] == pytest.approx(math.log(0.2) / penalty(7, alpha, offset), rel=2e-6)


def test_without_normalisation_the_short_ones_win():
    ids, scores, log_probs, finished = zip(*markov_search(patient_transitions(), alpha=0.0), strict=True)
    assert ids == ((EOS,), (3, EOS))
    assert scores == log_probs == pytest.approx([math.log(0.5), math.log(0.3)], rel=2e-6)
    assert all(finished)


def test_the_end_token_counts():
    ranked = {ids: score for ids, score, *_ in markov_search(patient_transitions(), beam_size=3, alpha=0.6)}
    assert ranked[(EOS,)] == pytest.approx(math.log(0.5) / (6 / 6) ** 0.6, rel=2e-6)
    assert ranked[(3, EOS)] == pytest.approx(math.log(0.3) / (7 / 6) ** 0.6, rel=2e-6)


def test_tokens_of_probability_zero_fill_no_slot():
    """Two hypotheses exist for a beam of five; the other three slots are empty."""
    transitions = np.zeros((4, 4))
    transitions[BOS] = [0, 0.25, 0, 0.75]
    transitions[3] = [0, 1, 0, 0]
    found = markov_hypotheses(transitions, beam_size=5)
    assert found.lengths.tolist() == [[2, 1, 0, 0, 0]]
    assert found.finished.tolist() == [[True, True, False, False, False]]
    assert found.ids[0, :, :3].tolist() == [[3, EOS, PAD], [EOS, PAD, PAD], [PAD] * 3, [PAD] * 3, [PAD] * 3]
    assert found.scores[0, 2:].tolist() == [-math.inf] * 3
    assert found.log_probs[0].tolist() == pytest.approx([math.log(0.75), math.log(0.25)] + [-math.inf] * 3)


def test_the_search_ends_when_it_is_decided():
    """From position 2 on the step gives NaN. It is not asked, for by then no live hypothesis can win."""

    def step(ids, position, cache):
        first = jnp.log(jnp.asarray([1e-7, 0.6, 1e-7, 0.4 - 2e-7]))
        log_probs = jnp.where(position == 0, first, jnp.log(jnp.asarray([1e-4, 0.9997, 1e-4, 1e-4])))
        return jnp.broadcast_to(jnp.where(position >= 2, jnp.nan, log_probs), (*ids.shape, 4)), cache

    found = beam_search(
        step, (), jnp.asarray([30]),
        beam_size=2, max_steps=31, alpha=0.6, offset=5.0, bos_id=BOS, eos_id=EOS, pad_id=PAD,
    )  # fmt: skip
    assert [ids for ids, *_ in ranked_of(found)] == [(EOS,), (3, EOS)]
    assert np.isfinite(found.scores).all()


@pytest.mark.parametrize(("field", "value"), [("beam_size", 0), ("max_steps", 0), ("alpha", -0.1), ("offset", -1.0)])
def test_settings_that_cannot_be(field, value):
    with pytest.raises(ValueError, match=f"{field} = {value}"):
        markov_search(patient_transitions(), **{field: value})
