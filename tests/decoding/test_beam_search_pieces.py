"""The pieces of the search, each against a hand-worked value or a plain sort."""

from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest

from transformer_jax.decoding.beam_search import (
    Hypotheses,
    State,
    best_candidates,
    gather_beams,
    is_searching,
    length_penalty,
    retire,
)


def test_the_stop_rule_by_hand():
    """Penalties of limit 7 and alpha 1: 2 with offset 5. A live -3 can still become -1.5."""
    worst = jnp.asarray([[-1.0, -1.5], [-1.0, -1.51], [-1.0, -jnp.inf], [-1.0, -9.0], [-1.0, -9.0]])
    finished = Hypotheses(jnp.zeros((5, 2, 9), jnp.int32), jnp.ones((5, 2), jnp.int32), worst, worst, worst > -jnp.inf)
    live = jnp.asarray([[-3.0, -4.0], [-3.0, -4.0], [-300.0, -400.0], [-3.0, -4.0], [-jnp.inf, -jnp.inf]])
    state = State(jnp.asarray(3), finished.ids, live, finished, ())
    penalties = partial(length_penalty, alpha=1.0, offset=5.0)
    limits = jnp.asarray([7, 7, 7, 3, 7])
    # no better than the worst kept; better; a slot is empty; at its limit; nothing alive
    assert is_searching(state, limits, penalties).tolist() == [False, True, True, False, False]


def test_candidates_are_the_best_of_all_with_ties_in_order():
    """Small whole numbers make ties everywhere; the oracle is a stable sort of the flat axis."""
    rng = np.random.default_rng(5)
    step_log_probs, live = -rng.integers(0, 4, (7, 3, 11)), -rng.integers(0, 3, (7, 3))
    flat = (live[:, :, None] + step_log_probs).reshape(7, 33)
    order = np.argsort(-flat, axis=1, kind="stable")[:, :6]
    parents, tokens, log_probs = best_candidates(
        jnp.asarray(step_log_probs, jnp.float32), jnp.asarray(live, jnp.float32)
    )
    np.testing.assert_array_equal(parents, order // 11)
    np.testing.assert_array_equal(tokens, order % 11)
    np.testing.assert_array_equal(log_probs, np.take_along_axis(flat, order, axis=1))


def test_a_vocabulary_smaller_than_the_beam():
    parents, tokens, log_probs = best_candidates(jnp.zeros((2, 5, 1)), -jnp.arange(10.0).reshape(2, 5))
    assert parents.tolist() == [[0, 1, 2, 3, 4]] * 2
    assert tokens.tolist() == [[0] * 5] * 2
    assert log_probs.tolist() == [[0, -1, -2, -3, -4], [-5, -6, -7, -8, -9]]


def test_retiring_keeps_the_best_and_the_older_of_equals():
    def hypotheses(scores, marks):
        scores = jnp.asarray([scores])
        return Hypotheses(jnp.asarray([marks])[..., None], jnp.ones(scores.shape, int), scores, scores, scores > -9)

    kept = retire(hypotheses([-1.0, -3.0, -5.0], [10, 11, 12]), hypotheses([-3.0, -9.0, -2.0, -4.0], [20, 21, 22, 23]))
    assert kept.ids[0, :, 0].tolist() == [10, 22, 11]
    assert kept.scores[0].tolist() == [-1.0, -2.0, -3.0]


def test_gathering_moves_every_leaf():
    places = jnp.asarray([[2, 0, 0, 1], [1, 1, 2, 0]])
    tree = {"flat": jnp.arange(6).reshape(2, 3), "deep": jnp.arange(210).reshape(2, 3, 5, 7)}
    moved = gather_beams(tree, places)
    for name, leaf in tree.items():
        expected = np.stack([np.asarray(leaf)[b][places[b]] for b in range(2)])
        np.testing.assert_array_equal(moved[name], expected)


@pytest.mark.parametrize("length", [1, 2, 13])
def test_length_penalties_of_gnmt_and_of_plain_division(length):
    assert float(length_penalty(length, alpha=0.6, offset=5.0)) == pytest.approx(((5 + length) / 6) ** 0.6)
    assert float(length_penalty(length, alpha=1.0, offset=0.0)) == pytest.approx(length)
    assert float(length_penalty(length, alpha=0.0, offset=5.0)) == 1.0
