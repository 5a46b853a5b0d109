"""Beam search where the right answer can be worked out by hand: the next token depends on the last one alone."""

import itertools
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from decoding.toy_search import BOS, EOS, PAD, Ranked, as_lists, penalty, rules

from transformer_jax.decoding.beam_search import Rules, beam_search, last_ids
from transformer_jax.decoding.hypotheses import Hypotheses

pytestmark = pytest.mark.usefixtures("quick_to_compile")
BY_PROBABILITY = rules(beam_size=2, alpha=0.0)


@partial(jax.jit, static_argnames="kept")
def markov_hypotheses(transitions: jax.Array, kept: Rules) -> Hypotheses:
    """Of one sentence, of seven tokens at most; its step needs no cache."""
    log_probs = jnp.log(transitions.astype(jnp.float32))
    return beam_search(
        lambda live, position, cache: (log_probs[last_ids(live, position, BOS)], cache), (), jnp.full(1, 7), kept,
        max_steps=7,
    )  # fmt: skip


def markov_search(transitions: np.ndarray, kept: Rules) -> Ranked:
    return as_lists(markov_hypotheses(transitions, kept))[0]


@pytest.mark.parametrize(("seed", "stop"), [(0, "bound"), (1, "bound"), (2, "beam_finished"), (3, "first_finished")])
def test_a_beam_of_one_is_greedy(seed, stop):
    transitions = np.random.default_rng(seed).dirichlet(np.ones(11), size=11)
    chain = [BOS]
    while len(chain) <= 7 and chain[-1] != EOS:
        chain.append(int(transitions[chain[-1]].argmax()))
    ((ids, _, log_prob, finished),) = markov_search(transitions, rules(beam_size=1, stop=stop))
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
    kept = rules(beam_size=2, alpha=alpha, offset=offset)
    first, _ = markov_search(patient_transitions(), kept)
    assert first[0] == (3, 4, 5, 6, 7, 8, EOS)
    assert first[1] == pytest.approx(math.log(0.2) / penalty(7, kept), rel=2e-6)


def test_without_normalisation_the_short_ones_win():
    ids, scores, log_probs, finished = zip(*markov_search(patient_transitions(), BY_PROBABILITY), strict=True)
    assert ids == ((EOS,), (3, EOS))
    assert scores == log_probs == pytest.approx([math.log(0.5), math.log(0.3)], rel=2e-6)
    assert all(finished)


def test_the_end_token_counts():
    ranked = {ids: score for ids, score, *_ in markov_search(patient_transitions(), rules())}
    assert ranked[(EOS,)] == pytest.approx(math.log(0.5) / (6 / 6) ** 0.6, rel=2e-6)
    assert ranked[(3, EOS)] == pytest.approx(math.log(0.3) / (7 / 6) ** 0.6, rel=2e-6)


def test_tokens_of_probability_zero_fill_no_slot():
    """Two hypotheses exist for a beam of five; the other three slots are empty."""
    transitions = np.zeros((4, 4))
    transitions[BOS] = [0, 0.25, 0, 0.75]
    transitions[3] = [0, 1, 0, 0]
    found = markov_hypotheses(transitions, rules(beam_size=5, alpha=0.0))
    assert found.lengths.tolist() == [[2, 1, 0, 0, 0]]
    assert found.finished.tolist() == [[True, True, False, False, False]]
    assert found.ids[0, :, :3].tolist() == [[3, EOS, PAD], [EOS, PAD, PAD], [PAD] * 3, [PAD] * 3, [PAD] * 3]
    assert found.scores[0, 2:].tolist() == [-math.inf] * 3
    assert found.log_probs[0].tolist() == pytest.approx([math.log(0.75), math.log(0.25)] + [-math.inf] * 3)


def test_the_search_ends_when_it_is_decided():
    """From position 2 on the step would find better. It is not asked, for by then no live hypothesis could win."""

    def step(live, position, cache):
        first = jnp.log(jnp.asarray([1e-7, 0.6, 1e-7, 0.4 - 2e-7]))
        log_probs = jnp.where(position == 0, first, jnp.log(jnp.asarray([1e-4, 0.9997, 1e-4, 1e-4])))
        return jnp.broadcast_to(jnp.where(position >= 2, 99.0, log_probs), (*live.log_probs.shape, 4)), cache

    found = beam_search(step, (), jnp.asarray([30]), rules(beam_size=2), max_steps=31)
    assert [ids for ids, *_ in as_lists(found)[0]] == [(EOS,), (3, EOS)]
    assert (np.asarray(found.scores) < 0).all()
