"""A broken step, or one that forbids everything, ends the search, and harms no sentence but its own."""

import jax
import numpy as np
import pytest
from decoding.toy_search import EOS, PLAIN, as_lists, found_in, random_tables, rules

pytestmark = pytest.mark.usefixtures("quick_to_compile")
BATCH, LENGTH = 101, 5


@pytest.fixture(params=["bound", "beam_finished", "first_finished"])
def kept(request):
    return rules(stop=request.param)


@pytest.mark.parametrize("broken", [np.nan, -np.inf])
def test_nothing_comes_out_where_nothing_can_be_said(broken, kept):
    """NaN, as of a model that diverged, is no better than minus infinity. The sentence beside it does not notice."""
    sound = random_tables(1, batch=BATCH, vocab=5, length=LENGTH)
    tables, limits = sound.copy(), np.full(BATCH, LENGTH)
    tables[::2] = broken
    found, expected = found_in(tables, limits, kept), found_in(sound, limits, kept)
    assert as_lists(found)[::2] == [[]] * 51
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours[1::2], theirs[1::2])
    assert (np.asarray(found.scores)[::2] == -np.inf).all()
    assert not np.asarray(found.finished)[::2].any()


@pytest.mark.parametrize("broken", [np.nan, -np.inf])
def test_what_had_finished_before_is_kept(broken, kept):
    """From the third token on nothing can be said; nothing is cut off, since no limit was reached."""
    tables = random_tables(1, batch=BATCH, vocab=5, length=LENGTH)
    tables[:, 2:] = broken
    found = found_in(tables, np.full(BATCH, LENGTH), kept)
    for hypotheses in as_lists(found):
        assert all(finished and len(ids) <= 2 and np.isfinite(score) for ids, score, _, finished in hypotheses)
    assert (np.asarray(found.lengths)[:, 0] > 0).any()


def test_one_token_that_is_not_a_number_is_never_said():
    tables = random_tables(1, batch=BATCH, vocab=5, length=LENGTH)
    tables[..., 3] = np.nan
    without = np.where(np.isnan(tables), -np.inf, tables)
    limits = np.full(BATCH, LENGTH)
    jax.tree.map(np.testing.assert_array_equal, found_in(tables, limits, PLAIN), found_in(without, limits, PLAIN))


def test_an_end_that_is_not_a_number_is_no_end():
    tables = random_tables(1, batch=BATCH, vocab=5, length=LENGTH)
    tables[..., EOS] = np.nan
    found = found_in(tables, np.full(BATCH, LENGTH), PLAIN)
    assert not np.asarray(found.finished).any()
    assert (np.asarray(found.lengths) == LENGTH).all()
    assert np.isfinite(found.scores).all()
