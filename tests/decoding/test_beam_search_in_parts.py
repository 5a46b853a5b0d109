"""A search that is halted, loses the sentences that are done, gets more room and goes on, finds what it would have."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from decoding.toy_search import PAD, as_lists, empty_cache, found_in, lane_step, random_tables, rules

from transformer_jax.decoding.beam_search import initial_state, is_searching, ranked, search, with_room

pytestmark = pytest.mark.usefixtures("quick_to_compile")
BATCH, LENGTH = 101, 5


@partial(jax.jit, static_argnames="kept")
def go_on(tables, limits, state, few, kept):
    state = search(lane_step(tables), state, limits, kept, few=few)
    return state, is_searching(state, limits, kept), ranked(state, limits, kept)


def resized(state, rows, steps):
    """These rows of the state, with room for so many steps."""
    room = ((0, 0), (0, 0), (0, steps - state.cache.shape[2]))
    state = with_room(state, steps, PAD)._replace(cache=jnp.pad(state.cache, room))
    return jax.tree.map(lambda leaf: np.asarray(leaf)[rows] if leaf.ndim else leaf, state)


def found_in_parts(tables, limits, kept):
    """Each sentence's hypotheses when it was first seen to be done, in three parts: rows, steps, halted when few."""
    state = initial_state(empty_cache(BATCH, kept.beam_size, 2), jnp.asarray(limits), 2, kept)
    left, places, done = np.arange(BATCH), np.arange(BATCH), {}
    for count, steps, few in ((BATCH, 2, 0), (64, LENGTH, 20), (20, LENGTH, 0)):
        assert 0 < len(left) <= count
        rows, filled = np.resize(left, count), np.arange(count) < len(left)
        state = resized(state, np.resize(places, count), steps)
        state, searching, hypotheses = go_on(tables[rows], np.where(filled, limits[rows], 0), state, few, kept)
        done |= {b: as_lists(hypotheses)[place] for place, b in enumerate(left) if not searching[place]}
        places = np.flatnonzero(searching)
        left = rows[places]
    assert not len(left)
    return done


@pytest.mark.parametrize("stop", ["bound", "first_finished"])
def test_the_parts_find_what_the_whole_does(stop):
    kept = rules(stop=stop)
    tables = random_tables(11, batch=BATCH, vocab=5, length=LENGTH)
    limits = np.arange(BATCH, dtype=np.int32) % (LENGTH + 1)
    done = found_in_parts(tables, limits, kept)
    assert [done[b] for b in range(BATCH)] == as_lists(found_in(tables, limits, kept))


def test_it_halts_as_soon_as_few_are_left_and_not_before():
    """Limits 1, 2, 3, 4 and 5, and no end: after each step one less is searching."""
    kept = rules()
    tables = random_tables(1, batch=LENGTH, vocab=5, length=LENGTH)
    tables[..., 1] = -np.inf
    limits = np.arange(1, LENGTH + 1, dtype=np.int32)
    start = initial_state(empty_cache(LENGTH, kept.beam_size, LENGTH), jnp.asarray(limits), LENGTH, kept)
    for few in range(LENGTH + 1):
        state, searching, _ = go_on(tables, limits, start, few, kept)
        assert int(state.step) == LENGTH - few
        assert searching.tolist() == [limit > LENGTH - few for limit in limits]
        assert state.live.length.tolist() == np.minimum(limits, LENGTH - few).tolist()
