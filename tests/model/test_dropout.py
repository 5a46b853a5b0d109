"""Dropout as a function and as a module."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from transformer_jax.model.dropout import Dropout, dropout


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.8])
def test_entries_are_dropped_at_the_rate_and_the_others_scaled(rate):
    """Over 1,000,003 entries, an odd number: a deviation of five standard deviations would fail."""
    dropped = dropout(jnp.full((1_000_003,), 3.0), rate, jax.random.key(1))
    assert (dropped == 0).mean() == pytest.approx(rate, abs=5 * (rate * (1 - rate) / 1e6) ** 0.5)
    np.testing.assert_allclose(np.unique(dropped), [0.0, 3.0 / (1 - rate)], rtol=1e-4)
    assert dropped.mean() == pytest.approx(3.0, abs=5 * 3 * (rate / (1 - rate) / 1e6) ** 0.5)


def test_the_scale_is_that_of_the_rounded_rate():
    """0.1 becomes 6,554 of 65,536 levels; with 1 / 0.9, which differs in the sixth digit, the mean would be off."""
    kept = dropout(jnp.ones(101), 0.1, jax.random.key(1)).max()
    np.testing.assert_allclose(kept, 65_536 / (65_536 - 6_554), rtol=2e-7)


def test_the_mean_over_many_draws_is_the_input():
    x = jnp.arange(1.0, 8.0)
    draws = jax.vmap(lambda key: dropout(x, 0.3, key))(jax.random.split(jax.random.key(2), 20_000))
    np.testing.assert_allclose(draws.mean(0), x, rtol=0.03)


def test_entries_are_dropped_independently():
    """Neighbours, and the two entries that share a random word, both survive as often as chance has it."""
    kept = np.asarray(dropout(jnp.ones(1_000_000), 0.5, jax.random.key(3))) > 0
    for a, b in ((kept[1:], kept[:-1]), (kept[500_000:], kept[:500_000])):
        assert (a & b).mean() == pytest.approx(0.25, abs=0.005)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_bits_are_those_of_a_key_whose_draws_need_not_be_sharded(size):
    """JAX's own draws without `threefry_partitionable` are all of the hash's bits, two halves to a word."""
    with jax.threefry_partitionable(False):
        words = np.asarray(jax.random.bits(jax.random.key(5), ((size + 1) // 2,), jnp.uint32))
    kept = np.stack([words & 0xFFFF, words >> 16], axis=1).reshape(-1)[:size] >= 0.5 * 65_536
    np.testing.assert_array_equal(dropout(jnp.ones(size), 0.5, jax.random.key(5)) > 0, kept)


def test_a_key_determines_what_is_dropped():
    x = jnp.ones((5, 7))
    np.testing.assert_array_equal(dropout(x, 0.5, jax.random.key(1)), dropout(x, 0.5, jax.random.key(1)))
    assert (dropout(x, 0.5, jax.random.key(1)) != dropout(x, 0.5, jax.random.key(2))).any()


def test_rate_zero_and_deterministic_are_the_identity():
    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(dropout(x, 0.0, jax.random.key(1)), x)
    np.testing.assert_array_equal(Dropout(0.0).apply({}, x, deterministic=False), x)
    np.testing.assert_array_equal(Dropout(0.9).apply({}, x, deterministic=True), x)


def test_the_gradient_passes_where_the_value_does():
    x = jnp.linspace(1.0, 2.0, 101)
    value, gradient = (f(x) for f in (dropping, jax.grad(lambda x: dropping(x).sum())))
    np.testing.assert_allclose(gradient, value / x, rtol=1e-6)


def dropping(x: jax.Array) -> jax.Array:
    return dropout(x, 0.4, jax.random.key(4))


def test_the_type_stays():
    assert dropout(jnp.ones(3, jnp.bfloat16), 0.5, jax.random.key(1)).dtype == jnp.bfloat16
