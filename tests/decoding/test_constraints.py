"""What a search may not say, by hand and under the search: it finds the best of what is left."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from decoding.toy_search import EOS, as_lists, assert_same, empty_cache, enumerated, lane_step, random_tables, rules

from transformer_jax.decoding.beam_search import Live, beam_search
from transformer_jax.decoding.constraints import beginning_with, constrained, not_ending_before, without

pytestmark = pytest.mark.usefixtures("quick_to_compile")
LOG_PROBS = jnp.log(jnp.arange(1.0, 21.0)).reshape(2, 2, 5)  # [B, beam, vocab]
NONE = jnp.zeros((2, 2, 3), jnp.int32)
LIVE = Live(jnp.zeros(2, jnp.int32), NONE, jnp.zeros((2, 2)), NONE)
NO_PAD = -1  # in toys, 0 is an ordinary token


def allowed(constraint, position: int) -> list[list[int]]:
    """The tokens that each sentence may still say, the same in both beams, with their log-probabilities unchanged."""
    left = np.asarray(constraint(LOG_PROBS, LIVE, jnp.asarray(position)))
    free = left > -np.inf
    np.testing.assert_array_equal(free[:, 0], free[:, 1])
    np.testing.assert_array_equal(left[free], LOG_PROBS[free])
    return [np.flatnonzero(row).tolist() for row in free[:, 0]]


def test_without_some_tokens():
    assert allowed(without(0, 3), 7) == [[1, 2, 4]] * 2


def test_no_end_before_the_least_number_of_tokens():
    """Two at least for the first sentence, none for the second."""
    constraint = not_ending_before(jnp.asarray([2, 0]), eos_id=1)
    everything, no_end = [0, 1, 2, 3, 4], [0, 2, 3, 4]
    assert [allowed(constraint, position)[0] for position in range(4)] == [no_end, no_end, everything, everything]
    assert all(allowed(constraint, position)[1] == everything for position in range(4))


def test_the_tokens_of_a_prefix_first():
    constraint = beginning_with(jnp.asarray([[3, 1, 2], [4, 0, 0]]), pad_id=0)
    everything = [0, 1, 2, 3, 4]
    assert [allowed(constraint, position) for position in (0, 1, 2, 3, 9)] == [
        [[3], [4]], [[1], everything], [[2], everything], [everything] * 2, [everything] * 2,
    ]  # fmt: skip


def test_no_prefix_forbids_nothing():
    for prefix in (jnp.zeros((2, 0), jnp.int32), jnp.zeros((2, 3), jnp.int32)):
        assert all(allowed(beginning_with(prefix, pad_id=0), position) == [[0, 1, 2, 3, 4]] * 2 for position in (0, 2))


def test_a_constrained_step_is_the_step_and_all_constraints():
    step = constrained(
        lambda live, position, cache: (LOG_PROBS + live.log_probs[..., None], cache + position),
        without(4),
        not_ending_before(jnp.asarray([9, 0]), eos_id=1),
    )
    log_probs, cache = step(LIVE._replace(log_probs=jnp.full((2, 2), -1.0)), jnp.asarray(5), jnp.asarray(7))
    assert cache == 12
    expected = np.array(LOG_PROBS - 1)
    expected[:, :, 4] = expected[0, :, 1] = -np.inf
    np.testing.assert_array_equal(log_probs, expected)


# Toys of three tokens, six at most; a beam of 67 has a place for all there is.
LENGTH, WIDE = 6, rules(beam_size=67)
TABLES = random_tables(3, batch=7, vocab=3, length=LENGTH)


@partial(jax.jit, static_argnames="forbidden")
def found(limits, least, prefix, forbidden=()):
    step = lane_step(TABLES)
    constraints = [not_ending_before(least, EOS), beginning_with(prefix, NO_PAD)]
    step = constrained(step, *constraints, *([without(*forbidden)] if forbidden else []))
    return beam_search(step, empty_cache(7, 67, LENGTH), limits, WIDE, max_steps=LENGTH)


def padded(prefixes: list[tuple[int, ...]]) -> np.ndarray:
    return np.array([[*ids, *[NO_PAD] * (LENGTH - len(ids))] for ids in prefixes], np.int32)


NOTHING, ALL = padded([()] * 7), np.full(7, LENGTH)


def test_after_its_prefix_the_search_finds_the_best_completions():
    """All that begin with the prefix, ranked: the prefix's own tokens count, in log P and in length."""
    prefixes = [(0,), (2, 2), (), (0, 2, 0), (2, 0, 0, 0, 2), (0, 0, 0, 0), (2,)]
    limits = np.asarray([6, 6, 6, 5, 6, 4, 3])
    hypotheses = as_lists(found(limits, np.zeros(7, int), padded(prefixes)))
    for table, limit, prefix, ours in zip(TABLES, limits, prefixes, hypotheses, strict=True):
        assert_same(ours, enumerated(table, limit, WIDE, prefix)[:67])
        assert all(ids[: len(prefix)] == prefix for ids, *_ in ours)
    assert [ids for ids, *_ in hypotheses[5]] == [(0, 0, 0, 0)], "the prefix alone, cut off at the limit"


def test_a_prefix_with_its_end_is_a_whole_translation():
    prefixes = [(0, 2, EOS), (EOS,), (2, EOS), (2, 2, 2, 2, 2, EOS), (0, EOS), (2, EOS), (0, 0, EOS)]
    for prefix, ours in zip(prefixes, as_lists(found(ALL, np.zeros(7, int), padded(prefixes))), strict=True):
        assert [(ids, finished) for ids, *_, finished in ours] == [(prefix, True)]


def test_no_translation_is_shorter_than_it_may_be():
    least = np.asarray([0, 1, 2, 3, 4, 5, 5])
    for table, fewest, ours in zip(TABLES, least, as_lists(found(ALL, least, NOTHING)), strict=True):
        assert_same(ours, [entry for entry in enumerated(table, LENGTH, WIDE) if len(entry[0]) > fewest][:67])


def test_what_is_forbidden_is_in_no_translation():
    without_2 = TABLES.copy()
    without_2[..., 2] = -np.inf
    for table, ours in zip(without_2, as_lists(found(ALL, np.zeros(7, int), NOTHING, forbidden=(2,))), strict=True):
        assert_same(ours, enumerated(table, LENGTH, WIDE))


def test_constraints_that_contradict_each_other_leave_nothing():
    """A prefix of a forbidden token; an end where none may be yet: the search ends."""
    prefixes = padded([(2,), (0, 2), (0,), (0,), (0,), (EOS,), (0, EOS)])
    least = np.asarray([0, 0, 0, 0, 0, 1, 2])
    lengths = np.asarray(found(ALL, least, prefixes, forbidden=(2,)).lengths)
    assert (lengths > 0).any(axis=1).tolist() == [False, False, True, True, True, False, False]
