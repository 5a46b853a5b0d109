"""Decoding token by token with a cache gives the logits of teacher forcing, whatever the switches and the ancestors."""

import dataclasses
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from transformer_jax.model.transformer import Transformer, empty_cache, longer_cache
from transformer_jax.special_ids import BOS_ID

SOURCE = jnp.array([[7, 11, 5, 29, 2], [3, 36, 2, 0, 0]])
BATCH, BEAM, LENGTH, VOCAB_SIZE = 2, 3, 7, 37


class Walk(NamedTuple):
    """Hypotheses as a search would have them, at each position; one that stands in a beam may have been in another."""

    parents: np.ndarray  # [T, B, beam] which one of the position before it continues
    fed: np.ndarray  # [T, B, beam] its newest token, the begin token at position 0
    tokens: np.ndarray  # [T, B, beam, T] all of them, as many as the position says; then whatever
    lanes: np.ndarray  # [T, B, beam, T] where each was fed, up to this position; then whatever


def random_walk(seed: int, *, moving: bool) -> Walk:
    """Without `moving`, each hypothesis stays in its beam. None knows that it ends: any token may be an end token."""
    rng = np.random.default_rng(seed)
    own = np.broadcast_to(np.arange(BEAM), (BATCH, BEAM))
    tokens, lanes = rng.integers(1, VOCAB_SIZE, (BATCH, BEAM, LENGTH)), rng.integers(0, BEAM, (BATCH, BEAM, LENGTH))
    fed, walk = np.full((BATCH, BEAM), BOS_ID), []
    for position in range(LENGTH):
        parents = rng.integers(0, BEAM, (BATCH, BEAM)) if moving and position else own
        tokens, lanes = (np.take_along_axis(leaf, parents[..., None], axis=1) for leaf in (tokens, lanes))
        lanes[:, :, position] = own
        if position:
            tokens[:, :, position - 1] = fed = rng.integers(1, VOCAB_SIZE, (BATCH, BEAM))
        walk.append((parents, fed, tokens.copy(), lanes.copy()))
    return Walk(*(np.stack(part) for part in zip(*walk, strict=True)))


STILL, MOVING = random_walk(1, moving=False), random_walk(2, moving=True)


@partial(jax.jit, static_argnums=0)
def teacher_forced(model: Transformer, variables: Any, walk: Walk) -> jax.Array:
    """Logits [T, B, beam, vocab] after the tokens that there are at each position, read at once."""
    source = jnp.tile(jnp.repeat(SOURCE, BEAM, axis=0), (LENGTH, 1))
    logits = model.apply(variables, source, walk.tokens.reshape(-1, LENGTH), deterministic=True)
    return logits.reshape(LENGTH, BATCH, BEAM, LENGTH, -1)[jnp.arange(LENGTH), :, :, jnp.arange(LENGTH)]


@partial(jax.jit, static_argnames=("model", "reorder"))
def token_by_token(model: Transformer, variables: Any, walk: Walk, cache: Any, *, reorder: bool = False) -> jax.Array:
    """The same logits from the cache; with `reorder` it is moved to where the hypotheses stand, instead of lanes."""
    source = model.apply(variables, SOURCE, deterministic=True, method="encode")

    def follow(leaf: jax.Array, parents: jax.Array) -> jax.Array:
        by_beam = leaf.reshape(*leaf.shape[:2], -1, BEAM, leaf.shape[3])
        return jnp.take_along_axis(by_beam, parents[:, None, None, :, None], axis=3).reshape(leaf.shape)

    def step(cache: Any, inputs: tuple[jax.Array, ...]) -> tuple[Any, jax.Array]:
        parents, fed, lanes, position = inputs
        if reorder:
            cache = jax.tree.map(lambda leaf: follow(leaf, parents), cache)
            lanes = jnp.broadcast_to(jnp.arange(BEAM)[None, :, None], lanes.shape)
        logits, cache = model.apply(variables, fed, lanes, position, cache, source, method="decode_step")
        return cache, logits

    return jax.lax.scan(step, cache, (walk.parents, walk.fed, walk.lanes, jnp.arange(LENGTH)))[1]


def test_the_walks_share_ancestors_and_change_beams():
    assert (STILL.lanes[-1] == np.arange(BEAM)[:, None]).all()
    assert any(len(set(row)) < BEAM for row in MOVING.parents[1:].reshape(-1, BEAM).tolist())
    assert (MOVING.lanes[-1] != np.arange(BEAM)[:, None]).mean() > 0.3


def test_cached_logits_are_the_teacher_forced_ones(variant, build):
    model, variables = build(variant)
    cached = token_by_token(model, variables, MOVING, empty_cache(variant, BATCH, BEAM, LENGTH))
    np.testing.assert_allclose(cached, teacher_forced(model, variables, MOVING), atol=1e-5)


def test_so_they_are_where_each_hypothesis_stays_in_its_beam(small_model, build):
    model, variables = build(small_model)
    cached = token_by_token(model, variables, STILL, empty_cache(small_model, BATCH, BEAM, LENGTH))
    np.testing.assert_allclose(cached, teacher_forced(model, variables, STILL), atol=1e-5)


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_lanes_do_what_moving_the_cache_does(seed, small_model, build):
    model, variables = build(small_model)
    walk, cache = random_walk(seed, moving=True), empty_cache(small_model, BATCH, BEAM, LENGTH)
    moved = token_by_token(model, variables, walk, cache, reorder=True)
    np.testing.assert_allclose(token_by_token(model, variables, walk, cache), moved, atol=1e-6)


def test_in_bfloat16_they_agree_to_its_precision(small_model, build):
    """Eight bits: values near one are rounded by up to 2^-9 some ten times on the way, differently in sums of other
    shapes. The cache is of the same precision, and so rounds nothing that teacher forcing does not."""
    narrow = dataclasses.replace(small_model, compute_dtype="bfloat16")
    model, variables = build(narrow)
    cache = empty_cache(narrow, BATCH, BEAM, LENGTH)
    assert {leaf.dtype for leaf in jax.tree.leaves(cache)} == {jnp.dtype(jnp.bfloat16)}
    cached, forced = token_by_token(model, variables, MOVING, cache), teacher_forced(model, variables, MOVING)
    assert cached.dtype == forced.dtype == jnp.float32
    np.testing.assert_allclose(cached, forced, atol=10 * 2.0**-9)
    wide = teacher_forced(*build(small_model), MOVING)
    assert 0 < np.abs(forced - wide).max() < 0.1


def test_what_is_in_the_cache_from_the_present_on_does_not_count(small_model, build):
    """What an earlier search left there."""
    model, variables = build(small_model)
    used = jax.tree.map(lambda leaf: leaf + 1e3, empty_cache(small_model, BATCH, BEAM, LENGTH))
    cached = token_by_token(model, variables, MOVING, used)
    np.testing.assert_allclose(cached, teacher_forced(model, variables, MOVING), atol=1e-5)


@partial(jax.jit, static_argnums=0)
def one_step(model: Transformer, variables: Any, fed: jax.Array, lanes: jax.Array, position: int, cache: Any) -> Any:
    source = model.apply(variables, SOURCE, deterministic=True, method="encode")
    return model.apply(variables, fed, lanes, position, cache, source, method="decode_step")


def test_a_longer_cache_goes_on_where_the_shorter_one_ended(small_model, build):
    """Some steps in a cache for them, the others in one with room for all."""
    model, variables = build(dataclasses.replace(small_model, num_layers=1))
    short, whole = (empty_cache(model.config, BATCH, BEAM, length) for length in (3, LENGTH))
    for position in range(LENGTH):
        if position == 3:
            short = longer_cache(short, (LENGTH - 3) * BEAM)
        fed, lanes = MOVING.fed[position], MOVING.lanes[position]
        expected, whole = one_step(model, variables, fed, lanes, position, whole)
        found, short = one_step(model, variables, fed, lanes[:, :, : 3 if position < 3 else LENGTH], position, short)
        np.testing.assert_allclose(found, expected, atol=1e-5)
    jax.tree.map(partial(np.testing.assert_allclose, atol=1e-5), short, whole)


def test_a_step_writes_one_position_of_every_layer_and_no_other(small_model, build):
    """Its lanes, which are as many as beams."""
    model, variables = build(dataclasses.replace(small_model, num_layers=1))
    before = empty_cache(model.config, BATCH, BEAM, LENGTH)
    _, after = one_step(model, variables, MOVING.fed[3], MOVING.lanes[3], 3, before)
    for leaf in jax.tree.leaves(after):
        written = np.abs(leaf).max(axis=(0, 1, 3)).reshape(LENGTH, BEAM)
        assert (written[3] > 0).all()
        assert (np.delete(written, 3, axis=0) == 0).all()
    assert [leaf.shape for leaf in jax.tree.leaves(after)] == [(2, 3, 7 * BEAM, 5), (2, 3, 7 * BEAM, 7)]


def test_it_works_with_64_bit_integers(small_model, build):
    small = dataclasses.replace(small_model, num_layers=1)
    model, variables = build(small)
    expected = teacher_forced(model, variables, MOVING)
    with jax.enable_x64(True):
        cached = token_by_token(model, variables, MOVING, empty_cache(small, BATCH, BEAM, LENGTH))
    np.testing.assert_allclose(cached, expected, atol=1e-5)


@pytest.mark.parametrize("beam", [1, 3])
def test_the_empty_cache_has_a_pair_of_zeros_a_layer(beam, small_model):
    cache = empty_cache(small_model, 2, beam, 11)
    assert [leaf.shape for leaf in jax.tree.leaves(cache)] == [(2, 3, 11 * beam, 5), (2, 3, 11 * beam, 7)] * 2
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(cache))
