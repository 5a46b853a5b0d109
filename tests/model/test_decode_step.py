"""Decoding token by token with a cache gives the logits of teacher forcing, whatever the switches."""

import dataclasses
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from transformer_jax.model.transformer import Source, Transformer, empty_cache, shift_right

SOURCE = jnp.array([[7, 11, 5, 29, 2], [3, 36, 2, 0, 0]])
BEAM, LENGTH = 2, 7
# Two beams of two sentences; no target knows that it ends, since its end token is never fed.
TARGET = jnp.array(
    [[[13, 4, 9, 22, 5, 6, 2], [31, 8, 8, 3, 17, 30, 2]], [[5, 5, 36, 1, 4, 4, 4], [9, 2, 7, 11, 3, 6, 2]]]
)


@partial(jax.jit, static_argnums=0)
def teacher_forced(model: Transformer, variables: Any) -> jax.Array:
    """Logits [B, beam, T, vocab]."""
    source = jnp.repeat(SOURCE, BEAM, axis=0)
    logits = model.apply(variables, source, TARGET.reshape(-1, LENGTH), deterministic=True)
    return logits.reshape(*TARGET.shape, -1)


def token_by_token(model: Transformer, variables: Any, cache: Any) -> jax.Array:
    """Logits [B, beam, T, vocab]."""

    def step(cache: Any, inputs: tuple[jax.Array, jax.Array]) -> tuple[Any, jax.Array]:
        ids, position = inputs
        logits, cache = model.apply(variables, ids, position, cache, source, method="decode_step")
        return cache, logits

    fed = shift_right(TARGET.reshape(-1, LENGTH)).reshape(TARGET.shape)
    source: Source = model.apply(variables, SOURCE, deterministic=True, method="encode")
    _, logits = jax.lax.scan(step, cache, (jnp.moveaxis(fed, -1, 0), jnp.arange(LENGTH)))
    return jnp.moveaxis(logits, 0, 2)


compiled = jax.jit(token_by_token, static_argnums=0)


def test_cached_logits_are_the_teacher_forced_ones(variant, build):
    model, variables = build(variant)
    cached = compiled(model, variables, empty_cache(variant, 2, BEAM, LENGTH))
    np.testing.assert_allclose(cached, teacher_forced(model, variables), atol=1e-5)


def test_in_bfloat16_they_agree_to_its_precision(small_model, build):
    """Eight bits: values near one are rounded by up to 2^-9 some ten times on the way, differently in sums of other
    shapes. The cache is of the same precision, and so rounds nothing that teacher forcing does not."""
    narrow = dataclasses.replace(small_model, compute_dtype="bfloat16")
    model, variables = build(narrow)
    cache = empty_cache(narrow, 2, BEAM, LENGTH)
    assert {leaf.dtype for leaf in jax.tree.leaves(cache)} == {jnp.dtype(jnp.bfloat16)}
    cached, forced = compiled(model, variables, cache), teacher_forced(model, variables)
    assert cached.dtype == forced.dtype == jnp.float32
    np.testing.assert_allclose(cached, forced, atol=10 * 2.0**-9)
    wide = teacher_forced(*build(small_model))
    assert 0 < np.abs(forced - wide).max() < 0.1


def test_what_is_in_the_cache_from_the_present_on_does_not_count(small_model, build):
    """Neither its length nor what an earlier search left there."""
    model, variables = build(small_model)
    used = jax.tree.map(lambda leaf: leaf + 1e3, empty_cache(small_model, 2, BEAM, LENGTH + 4))
    cached = compiled(model, variables, used)
    np.testing.assert_allclose(cached, teacher_forced(model, variables), atol=1e-5)


def test_a_step_writes_one_position_of_every_layer_and_no_other(small_model, build):
    model, variables = build(small_model)

    @jax.jit
    def step(cache):
        source = model.apply(variables, SOURCE, deterministic=True, method="encode")
        return model.apply(variables, TARGET[:, :, 0], jnp.array(3), cache, source, method="decode_step")

    _, after = step(empty_cache(small_model, 2, BEAM, LENGTH))
    for leaf in jax.tree.leaves(after):
        written = np.abs(leaf).max(axis=(0, 1, 2, 4))
        assert written[3] > 0
        assert (np.delete(written, 3) == 0).all()
    assert [leaf.shape for leaf in jax.tree.leaves(after)] == [(2, BEAM, 3, LENGTH, 5), (2, BEAM, 3, LENGTH, 7)] * 2


def test_it_works_with_64_bit_integers(small_model, build):
    small = dataclasses.replace(small_model, num_layers=1)
    model, variables = build(small)
    expected = teacher_forced(model, variables)
    with jax.enable_x64(True):
        cached = compiled(model, variables, empty_cache(small, 2, BEAM, LENGTH))
    np.testing.assert_allclose(cached, expected, atol=1e-5)


@pytest.mark.parametrize("beam", [1, 3])
def test_the_empty_cache_has_a_pair_of_zeros_a_layer(beam, small_model):
    shapes = [leaf.shape for leaf in jax.tree.leaves(empty_cache(small_model, 2, beam, 11))]
    assert shapes == [(2, beam, 3, 11, 5), (2, beam, 3, 11, 7)] * 2
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(empty_cache(small_model, 2, beam, 11)))
