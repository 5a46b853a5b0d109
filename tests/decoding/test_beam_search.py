"""Beam search against every hypothesis enumerated, and against lists that are sorted."""

import dataclasses

import jax
import numpy as np
import pytest
from decoding.toy_search import (
    EOS,
    PAD,
    PLAIN,
    as_lists,
    assert_same,
    enumerated,
    found_in,
    log_prob_of,
    penalty,
    random_tables,
    rules,
    sorted_lists,
)

pytestmark = pytest.mark.usefixtures("quick_to_compile")

# Searches of one shape and few rules, to be compiled once.
BATCH, VOCAB, LENGTH = 101, 5, 5
BY_LENGTH = rules(beam_size=2, alpha=1.0, offset=0.0)
BY_PROBABILITY = rules(beam_size=5, alpha=0.0)
LIMITS = np.arange(BATCH) % (LENGTH + 1)


def tables_of(seed: int) -> np.ndarray:
    return random_tables(seed, batch=BATCH, vocab=VOCAB, length=LENGTH)


@pytest.mark.parametrize(
    ("vocab", "length", "beam_size", "alpha", "offset"),
    [(3, 6, 67, 0.0, 5.0), (3, 6, 67, 0.6, 0.0), (5, 4, 163, 0.6, 5.0), (5, 4, 163, 2.5, 0.0)],
)
def test_a_beam_that_holds_everything_finds_everything_in_order(vocab, length, beam_size, alpha, offset):
    """Under the bound. All continuations are candidates, so that only the stop rule could lose any."""
    wide = rules(beam_size=beam_size, alpha=alpha, offset=offset)
    tables = random_tables(vocab, batch=7, vocab=vocab, length=length)
    for table, ours in zip(tables, as_lists(found_in(tables, np.full(7, length), wide)), strict=True):
        assert_same(ours, enumerated(table, length, wide)[:beam_size])


@pytest.mark.parametrize(
    ("kept", "stop"),
    [
        (rules(beam_size=1), "bound"),
        (BY_LENGTH, "bound"),
        (BY_LENGTH, "beam_finished"),
        (PLAIN, "bound"),
        (PLAIN, "beam_finished"),
        (PLAIN, "first_finished"),
        (BY_PROBABILITY, "bound"),
        (BY_PROBABILITY, "beam_finished"),
    ],
)
def test_narrow_beams_agree_with_sorted_lists(kept, stop):
    """In ids, scores, order and in what is finished, at every limit."""
    narrow = dataclasses.replace(kept, stop=stop)
    tables = tables_of(narrow.beam_size)
    for table, limit, ours in zip(tables, LIMITS, as_lists(found_in(tables, LIMITS, narrow)), strict=True):
        assert_same(ours, sorted_lists(table, limit, narrow))


@pytest.mark.parametrize("stop", ["bound", "beam_finished"])
def test_so_they_do_where_all_is_a_tie(stop):
    """Small whole numbers, some of them minus infinity: equals stand in the order of beams, then of ids."""
    rng = np.random.default_rng(3)
    tables = -rng.choice([1, 1, 2, 3, np.inf], (BATCH, LENGTH, VOCAB ** (LENGTH - 1), VOCAB)).astype(np.float32)
    narrow = dataclasses.replace(BY_PROBABILITY, stop=stop)
    limits = np.full(BATCH, LENGTH)
    for table, ours in zip(tables, as_lists(found_in(tables, limits, narrow)), strict=True):
        assert_same(ours, sorted_lists(table, LENGTH, narrow))


@pytest.fixture(name="ragged", params=["bound", "beam_finished", "first_finished"])
def _ragged(request):
    tables, kept = tables_of(11), rules(stop=request.param)
    return tables, kept, found_in(tables, LIMITS, kept)


def test_shapes_and_laws_of_the_result(ragged):
    _, kept, found = ragged
    ids, lengths, scores, log_probs, finished = map(np.asarray, found)
    assert ids.shape == (BATCH, 3, LENGTH)
    assert lengths.shape == scores.shape == log_probs.shape == finished.shape == (BATCH, 3)
    assert (lengths <= LIMITS[:, None]).all()
    positions = np.arange(LENGTH)
    assert (ids[positions >= lengths[:, :, None]] == PAD).all()
    ends = (ids == EOS) & (positions == lengths[:, :, None] - 1)
    assert (ends.any(axis=2) == finished).all()
    assert (np.where(positions < lengths[:, :, None] - 1, ids, PAD) != EOS).all(), "an end token inside a hypothesis"
    cut_off = ~finished & (lengths > 0)
    assert (lengths[cut_off] == np.repeat(LIMITS[:, None], 3, axis=1)[cut_off]).all()
    assert 0 < finished.sum() < finished.size
    assert ((scores[:, 1:] <= scores[:, :-1]) | (finished[:, :-1] & ~finished[:, 1:])).all()
    assert (lengths[LIMITS > 0, 0] > 0).all()
    if kept.stop != "first_finished":
        assert (lengths > 0)[LIMITS > 0].all(), "no slot is empty"


def test_scores_are_those_of_the_whole_hypothesis(ragged):
    """Scored anew from its tokens, the end token counted, each hypothesis has the log P and the score reported."""
    tables, kept, found = ragged
    for table, ours in zip(tables, as_lists(found), strict=True):
        for ids, score, log_prob, _ in ours:
            assert log_prob == pytest.approx(log_prob_of(table, ids), rel=2e-6)
            assert score == pytest.approx(log_prob / penalty(len(ids), kept), rel=2e-6)


def test_a_sentence_does_not_depend_on_what_is_beside_it(ragged):
    """Alone, its search ends when it is done; with others it waits for them."""
    tables, kept, together = ragged
    for b in range(11, 29):
        alone = found_in(tables, np.where(np.arange(BATCH) == b, LIMITS, 0), kept)
        for ours, theirs in zip(alone, together, strict=True):
            np.testing.assert_array_equal(ours[b], theirs[b])


def test_a_sentence_without_any_token_has_no_hypothesis(ragged):
    found = ragged[2]
    empty = jax.tree.map(lambda leaf: np.asarray(leaf)[LIMITS == 0], found)
    assert (empty.ids == PAD).all()
    assert (empty.lengths == 0).all()
    assert (empty.scores == -np.inf).all()
    assert (empty.log_probs == -np.inf).all()
    assert not empty.finished.any()


@pytest.mark.parametrize("kept", [PLAIN, BY_LENGTH], ids=["offset_5", "offset_0"])
def test_a_batch_of_nothing_makes_no_step(kept):
    tables = np.full_like(tables_of(1), np.nan)
    found = found_in(tables, np.where(np.arange(BATCH) % 2, 0, -3), kept)
    assert (np.asarray(found.scores) == -np.inf).all()
    assert (np.asarray(found.lengths) == 0).all()


def test_limits_beyond_the_buffer_end_with_it():
    """Without an end token in reach, hypotheses fill the buffer, are unfinished, and are scored at its length."""
    tables = tables_of(3)
    tables[..., EOS] = -np.inf
    far, at_the_end = (found_in(tables, np.full(BATCH, n), PLAIN) for n in (99, LENGTH))
    assert (np.asarray(far.lengths) == LENGTH).all()
    assert not np.asarray(far.finished).any()
    jax.tree.map(np.testing.assert_array_equal, far, at_the_end)


def test_double_precision_elsewhere_changes_nothing():
    tables = tables_of(11)
    expected = found_in(tables, LIMITS, PLAIN)
    with jax.enable_x64(True):
        found = found_in(tables.astype(np.float64), LIMITS, PLAIN)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(("field", "value"), [("beam_size", 0), ("alpha", -0.1), ("offset", -1.0)])
def test_rules_that_cannot_be(field, value):
    with pytest.raises(ValueError, match=f"{field} = {value}"):
        rules(**{field: value})


def test_buffers_hold_one_step_at_least():
    with pytest.raises(ValueError, match="max_steps = 0"):
        found_in(np.zeros((2, 0, 1, 5), np.float32), np.asarray([1, 1]), PLAIN)
