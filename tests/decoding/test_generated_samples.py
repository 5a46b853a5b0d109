"""Samples of a model: as probable as it says, and a sentence's own whatever stands beside it."""

import dataclasses

import numpy as np
import pytest
from compilation import quick_to_compile_for_all
from random_params import random_params
from tiny_experiment import tiny_experiment

from transformer_jax.decoding.forced import ForcedDecoder
from transformer_jax.decoding.generate import Generator
from transformer_jax.decoding.pair_batches import Pair
from transformer_jax.model.transformer import Transformer
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID

__all__ = ["quick_to_compile_for_all"]

VOCAB_SIZE = 29
EXPERIMENT = tiny_experiment(
    num_layers=2, beam_size=3, sampling_temperature=1.3, sampling_top_k=13, tokens_per_batch=1536
)
DECODING = EXPERIMENT.decoding
RNG = np.random.default_rng(3)
# More than a quarter of a batch, so that those that take longer go on in fewer rows; and some that need more steps.
SOURCES = [
    [*RNG.integers(4, VOCAB_SIZE, length - 1).tolist(), EOS_ID] for length in (3, 5, 16, 2, 7, 11, 13, 4, 15, 1, 9)
]


@pytest.fixture(scope="module")
def model():
    return Transformer(EXPERIMENT.model, VOCAB_SIZE)


@pytest.fixture(scope="module")
def params(model):
    return random_params(model.config, VOCAB_SIZE, seed=1)


@pytest.fixture(scope="module")
def generator(model, params):
    return Generator(model, params, DECODING)


@pytest.fixture(scope="module")
def samples(generator):
    return generator.generate(SOURCES)


def test_each_sample_is_as_probable_as_forced_decoding_says(samples, model, params):
    found = [(source, one) for source, own in zip(SOURCES, samples, strict=True) for one in own if len(source) > 1]
    pairs = [Pair(source, one.ids + [EOS_ID] * one.finished) for source, one in found]
    for (_, one), forced in zip(found, ForcedDecoder(model, params, DECODING).score(pairs), strict=True):
        assert (one.score, one.log_prob) == pytest.approx((forced.score, forced.log_prob), abs=1e-4)
        assert {PAD_ID, BOS_ID, EOS_ID}.isdisjoint(one.ids)
    assert {one.finished for _, one in found} == {True, False}
    assert len({tuple(one.ids) for _, one in found}) > len(found) * 0.8


def same(ours, theirs):
    return [one.ids for one in ours] == [one.ids for one in theirs]


def test_a_sentence_s_samples_are_its_own(generator, samples):
    """By its number in the input, not by its place in a call."""
    assert same(generator.generate(SOURCES[4:], first=4)[0], samples[4])
    assert same(generator.generate([SOURCES[5]], first=5)[0], samples[5])
    assert not same(generator.generate([SOURCES[5]], first=4)[0], samples[5])
    twice = generator.generate([SOURCES[5], SOURCES[5]], first=5)
    assert same(twice[0], samples[5])
    assert not same(twice[1], samples[5])


@pytest.mark.slow
def test_near_no_temperature_they_are_the_greedy_translation(model, params):
    cold = dataclasses.replace(DECODING, sampling_temperature=1e-9, beam_size=2)
    greedy = dataclasses.replace(DECODING, sampling_temperature=None, beam_size=1)
    ours, theirs = (Generator(model, params, each).generate(SOURCES) for each in (cold, greedy))
    for own, (best,) in zip(ours, theirs, strict=True):
        assert [one.ids for one in own] == [best.ids] * len(own)
