"""A model that is quick to compile, with random parameters, and what several files ask of its translations."""

import dataclasses
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_params import random_params

from transformer_jax import config
from transformer_jax.decoding.generate import Generator, Hypothesis
from transformer_jax.model.transformer import Transformer
from transformer_jax.special_ids import EOS_ID, PAD_ID

VOCAB_SIZE = 29
MAX_LENGTH = 31
EXTRA = 5
DECODING = config.Decoding(
    average_checkpoints=1, beam_size=3, length_penalty=0.6, length_penalty_offset=5.0, stop="bound",
    max_length_ratio=1.0, max_extra_length=EXTRA, min_length_ratio=0.0, sampling_temperature=None, sampling_top_k=None,
    sampling_nucleus=None, sampling_seed=1, tokens_per_batch=16 * 3 * 8,
    constrained_to_trees=False,
    constrained_to_inventory=False,
)  # fmt: skip
SIZES = config.Model(
    num_layers=2, d_model=14, d_ff=23, num_heads=3, d_k=5, d_v=7, dropout_rate=0.1, attention_dropout_rate=0.0,
    feed_forward_dropout_rate=0.0, encoder_neighbourhood=None, decoder_neighbourhood=None, positions="sinusoidal",
    max_length=MAX_LENGTH, pre_norm=False, attention_biases=False, shared_embedding=True, layer_norm_epsilon=1e-6,
    compute_dtype="float32", rematerialise="nothing",
)  # fmt: skip
MODEL = Transformer(SIZES, VOCAB_SIZE)


def random_sources(seed: int, lengths: list[int]) -> list[list[int]]:
    """Ids with the end token; lengths with it."""
    rng = np.random.default_rng(seed)
    return [[*rng.integers(4, VOCAB_SIZE, length - 1).tolist(), EOS_ID] for length in lengths]


# Both sides of every batch length (16, and 31, where the model ends), the shortest, and more than a batch of rows.
SOURCES = random_sources(6, [2, 3, 5, 16, 17, 23, 31, 7, 7, 2, 11, 13, 30, 15, 4, 9, 14, 16, 12])
# No hypothesis of these is longer than 16.
SHORT = [source for source in SOURCES if len(source) + EXTRA <= 16]


def use_devices(patch: pytest.MonkeyPatch, count: int) -> None:
    """Programs are compiled for each device: few tests need several."""
    patch.setattr(jax, "local_devices", lambda: jax.devices()[:count])
    patch.setattr(jax, "local_device_count", lambda: count)


@cache
def params() -> Any:
    """With these, some hypotheses end, at various lengths, and others are cut off."""
    return random_params(SIZES, VOCAB_SIZE, seed=1)


@cache
def generator() -> Generator:
    return Generator(MODEL, params(), DECODING)


@cache
def translations() -> list[list[Hypothesis]]:
    """Of `SOURCES`."""
    return generator().generate(SOURCES)


def like_it(values: Any = None, **decoding: Any) -> Generator:
    """A generator with other values in the programs that are compiled already, which know the beam and its rules."""
    other = Generator(MODEL, values or params(), dataclasses.replace(DECODING, **decoding))
    other._programs = generator()._programs
    return other


@jax.jit
def _forced(values: Any, source: jax.Array, target: jax.Array) -> jax.Array:
    return jax.nn.log_softmax(MODEL.apply({"params": values}, source, target, deterministic=True))[0]


def forced(source: list[int], target: list[int], values: Any = None) -> np.ndarray:
    """Log-probabilities [T, vocab] of every next token of a target, by teacher forcing, in one compiled shape."""
    source_ids, target_ids = (jnp.array([ids + [PAD_ID] * (MAX_LENGTH - len(ids))]) for ids in (source, target))
    return np.array(_forced(values or params(), source_ids, target_ids))


def limit(source: list[int]) -> int:
    return min(len(source) + EXTRA, MAX_LENGTH)


def assert_scored(source: list[int], hypothesis: Hypothesis) -> None:
    """Log P is the sum of what teacher forcing says, the end token's included, and the score is it over the penalty."""
    target = hypothesis.ids + [EOS_ID] * hypothesis.finished
    log_prob = forced(source, target)[np.arange(len(target)), target].sum()
    assert hypothesis.log_prob == pytest.approx(log_prob, abs=1e-4)
    assert hypothesis.score == pytest.approx(log_prob / ((5 + len(target)) / (5 + 1)) ** 0.6, abs=1e-4)


def assert_same(ours: list[list[Hypothesis]], theirs: list[list[Hypothesis]]) -> None:
    """Of each source, all hypotheses, in order."""
    for own, other in zip(ours, theirs, strict=True):
        assert [(found.ids, found.finished) for found in own] == [(found.ids, found.finished) for found in other]
        for field in ("score", "log_prob"):
            values = [[getattr(found, field) for found in hypotheses] for hypotheses in (own, other)]
            np.testing.assert_allclose(*values, atol=1e-5)
