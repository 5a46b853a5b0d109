"""Translations are what the model's probabilities say, and keep to the rules."""

import dataclasses
from functools import cache

import jax.numpy as jnp
import numpy as np
import pytest
from decoding.small_generator import (
    DECODING,
    MODEL,
    SHORT,
    SOURCES,
    VOCAB_SIZE,
    assert_scored,
    forced,
    like_it,
    limit,
    params,
    translations,
)

from transformer_jax.decoding.generate import Generator
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID

pytestmark = pytest.mark.usefixtures("quick_to_compile", "one_device")


@pytest.fixture(name="hypotheses")
def _hypotheses():
    return translations()


def test_the_sources_try_all_cases(hypotheses):
    """What the laws below are about does occur."""
    best = [own[0] for own in hypotheses]
    assert {one.finished for one in best} == {True, False}
    assert len({len(one.ids) for one in best}) > 3
    assert len({tuple(one.ids) for one in best}) > len(SOURCES) // 2
    longest = [max(len(one.ids) for one in own) for own in hypotheses]
    assert any(length > 16 >= len(source) for length, source in zip(longest, SOURCES, strict=True))


def test_hypotheses_are_as_many_as_beams_all_different_the_best_first(hypotheses):
    for own in hypotheses:
        assert len({tuple(found.ids) for found in own}) == len(own) == 3
        assert own == sorted(own, key=lambda found: (not found.finished, -found.score))


def test_the_score_is_that_of_teacher_forcing(hypotheses):
    for source, own in zip(SOURCES, hypotheses, strict=True):
        for found in own:
            assert_scored(source, found)


def test_a_hypothesis_ends_or_reaches_its_own_limit(hypotheses):
    """The limit is the sentence's, not its batch's."""
    for source, own in zip(SOURCES, hypotheses, strict=True):
        for found in own:
            assert len(found.ids) + found.finished <= limit(source)
            assert found.finished or len(found.ids) == limit(source)


def test_no_hypothesis_holds_a_token_that_is_none(hypotheses):
    for own in hypotheses:
        for found in own:
            assert {PAD_ID, BOS_ID, EOS_ID}.isdisjoint(found.ids)
            assert all(0 <= id < VOCAB_SIZE for id in found.ids)


def test_not_even_where_the_model_wants_it():
    """The longest rows of the softmax's table are those two's."""
    table = np.array(params()["source_embedding"]["table"])
    table[[PAD_ID, BOS_ID]] *= 40
    wanting = {**params(), "source_embedding": {"table": jnp.asarray(table)}}
    assert int(forced(SOURCES[2], [5, 7], wanting)[0].argmax()) in (PAD_ID, BOS_ID)
    for own in like_it(wanting).generate(SHORT):
        for found in own:
            assert {PAD_ID, BOS_ID}.isdisjoint(found.ids)


@cache
def greedy():
    """A beam of one."""
    decoding = dataclasses.replace(DECODING, beam_size=1, tokens_per_batch=16 * 8)
    return Generator(MODEL, params(), decoding).generate(SHORT)


def test_a_beam_of_one_takes_the_most_probable_token_each_time():
    for source, [best] in zip(SHORT, greedy(), strict=True):
        ids, finished = [], False
        while len(ids) < limit(source) and not finished:
            row = forced(source, [*ids, 4])[len(ids)]  # the last id is not read
            row[[PAD_ID, BOS_ID]] = -np.inf
            finished = int(row.argmax()) == EOS_ID
            ids += [] if finished else [int(row.argmax())]
        assert (best.ids, best.finished) == (ids, finished)


def test_a_wider_beam_scores_better_on_average(hypotheses):
    """No law of beam search, sentence by sentence; but were it otherwise here, beams would be mixed up."""
    wider = [own[0].score for source, own in zip(SOURCES, hypotheses, strict=True) if source in SHORT]
    assert len(wider) == len(greedy())
    assert np.mean(wider) > np.mean([best.score for [best] in greedy()])
