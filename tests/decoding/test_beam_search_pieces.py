"""The pieces of the search, each against a hand-worked value or a plain sort."""

import jax.numpy as jnp
import numpy as np
import pytest
from decoding.toy_search import rules

from transformer_jax.decoding.beam_search import Live, State, best_candidates, is_searching
from transformer_jax.decoding.hypotheses import Hypotheses, gather_beams, length_penalty, retire


def state_of(kept: list[list[float]], live: list[list[float]], lengths: list[int]) -> State:
    """Scores of the kept hypotheses and log-probabilities of the live ones."""
    scores, ids = jnp.asarray(kept), jnp.zeros((len(kept), 2, 9), jnp.int32)
    finished = Hypotheses(ids, jnp.ones(scores.shape, jnp.int32), scores, scores, scores > -jnp.inf)
    return State(jnp.asarray(5), Live(jnp.asarray(lengths), ids, jnp.asarray(live), ids), finished, ())


def test_the_stop_rule_by_hand():
    """Penalties of limit 7 and alpha 1: 2 with offset 5. A live -3 can still become -1.5."""
    none = -jnp.inf
    state = state_of(
        [[-1.0, -1.5], [-1.0, -1.51], [-1.0, none], [-1.0, -9.0], [-1.0, -9.0]],
        [[-3.0, -4.0], [-3.0, -4.0], [-300.0, -400.0], [-3.0, -4.0], [none, none]],
        [3, 3, 3, 3, 3],
    )
    limits = jnp.asarray([7, 7, 7, 3, 7])
    # no better than the worst kept; better; a slot is empty; at its limit; nothing alive
    expected = [False, True, True, False, False]
    assert is_searching(state, limits, rules(beam_size=2, alpha=1.0)).tolist() == expected


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        ("beam_finished", [True, True, False, False, False]),
        ("first_finished", [True, False, False, False, False]),
    ],
)
def test_the_rules_that_count_by_hand(stop, expected):
    """What is alive may be better or worse."""
    none = -jnp.inf
    state = state_of(
        [[none, none], [-9.0, none], [-9.0, -10.0], [none, none], [none, none]],
        [[-1.0, -2.0], [-1.0, -2.0], [-1.0, -2.0], [-1.0, none], [none, none]],
        [3, 3, 3, 7, 3],
    )
    # none has finished; one; two; none, and the limit is reached; none, and nothing is alive
    assert is_searching(state, jnp.full(5, 7), rules(beam_size=2, stop=stop)).tolist() == expected


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


def test_what_is_not_a_number_is_the_worst():
    """In a row of its own: the other beam's continuations are the best."""
    step_log_probs = jnp.stack([jnp.full((2, 5), jnp.nan), -jnp.arange(10.0).reshape(2, 5)], axis=1)
    parents, tokens, log_probs = best_candidates(step_log_probs, jnp.asarray([[-1.0, -2.0], [-1.0, -jnp.inf]]))
    assert parents[0].tolist() == [1] * 4
    assert tokens[0].tolist() == [0, 1, 2, 3]
    assert log_probs.tolist() == [[-2, -3, -4, -5], [-jnp.inf] * 4]


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
