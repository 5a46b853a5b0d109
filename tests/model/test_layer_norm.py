"""Layer normalisation."""

import jax
import jax.numpy as jnp
import numpy as np
import numpy_oracle as oracle
import pytest

from transformer_jax.model.layer_norm import layer_norm

WIDTH = 11
ONES, ZEROS = jnp.ones(WIDTH), jnp.zeros(WIDTH)


def normal(seed: int, *shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def test_by_hand():
    """Mean 3, population variance 4; with epsilon 12 the divisor is sqrt(16)."""
    x, one, zero = jnp.array([1.0, 5.0]), jnp.ones(2), jnp.zeros(2)
    np.testing.assert_allclose(layer_norm(x, one, zero, epsilon=1e-12), [-1.0, 1.0], rtol=1e-6)
    np.testing.assert_allclose(layer_norm(x, one, zero, epsilon=12.0), [-0.5, 0.5], rtol=1e-6)
    scaled = layer_norm(x, jnp.array([2.0, 3.0]), jnp.array([10.0, 20.0]), epsilon=12.0)
    np.testing.assert_allclose(scaled, [9.0, 21.5], rtol=1e-6)


@pytest.mark.parametrize("epsilon", [1e-6, 0.3])
def test_agrees_with_numpy(epsilon):
    x, scale, bias = 3 * normal(1, 5, WIDTH) + 2, normal(2, WIDTH), normal(3, WIDTH)
    expected = oracle.layer_norm(np.asarray(x, np.float64), {"scale": scale, "bias": bias}, epsilon=epsilon)
    np.testing.assert_allclose(layer_norm(x, scale, bias, epsilon=epsilon), expected, atol=1e-5)


def test_neither_a_shift_nor_a_factor_of_the_input_changes_the_output():
    x = normal(4, 3, WIDTH)
    expected = layer_norm(x, ONES, ZEROS, epsilon=1e-12)
    np.testing.assert_allclose(layer_norm(5 * x - 7, ONES, ZEROS, epsilon=1e-12), expected, atol=1e-5)


def test_a_constant_row_becomes_the_bias_with_a_finite_gradient():
    bias = normal(5, WIDTH)
    x = jnp.full((WIDTH,), 3.0)
    np.testing.assert_array_equal(layer_norm(x, ONES, bias, epsilon=1e-6), bias)
    gradient = jax.jacobian(lambda x: layer_norm(x, ONES, bias, epsilon=1e-6))(x)
    assert jnp.isfinite(gradient).all()


def test_bfloat16_is_normalised_in_float32():
    """The squares of deviations from a large mean would not survive bfloat16."""
    x = (normal(6, 3, WIDTH) + 64).astype(jnp.bfloat16)
    normed = layer_norm(x, ONES, ZEROS, epsilon=1e-6)
    assert normed.dtype == jnp.bfloat16
    wide = layer_norm(x.astype(jnp.float32), ONES, ZEROS, epsilon=1e-6)
    np.testing.assert_array_equal(normed, wide.astype(jnp.bfloat16))


def slopes(function, array: np.ndarray) -> np.ndarray:
    """The derivative of a number by each entry of an array in float64, by central differences."""
    found = np.zeros_like(array)
    for place in np.ndindex(array.shape):
        step = np.zeros_like(array)
        step[place] = 1e-6
        found[place] = (function(array + step) - function(array - step)) / 2e-6
    return found


@pytest.mark.parametrize("epsilon", [1e-6, 0.3])
def test_its_gradient_is_the_slope_of_numpy_s(epsilon):
    arrays = [3 * normal(1, 5, WIDTH) + 2, normal(2, WIDTH), normal(3, WIDTH)]
    direction = normal(7, 5, WIDTH)
    found = jax.grad(lambda *arrays: (layer_norm(*arrays, epsilon=epsilon) * direction).sum(), (0, 1, 2))(*arrays)

    def along(x, scale, bias):
        return (oracle.layer_norm(x, {"scale": scale, "bias": bias}, epsilon=epsilon) * np.asarray(direction)).sum()

    wide = [np.asarray(array, np.float64) for array in arrays]
    for i, gradient in enumerate(found):
        expected = slopes(lambda array, i=i: along(*wide[:i], array, *wide[i + 1 :]), wide[i])
        np.testing.assert_allclose(gradient, expected, atol=1e-4)


def test_its_gradient_has_the_type_of_what_it_is_by():
    x = normal(6, 3, WIDTH).astype(jnp.bfloat16)
    by_x, by_scale = jax.grad(lambda x, scale: layer_norm(x, scale, ZEROS, epsilon=1e-6).sum(), (0, 1))(x, ONES)
    assert (by_x.dtype, by_scale.dtype) == (jnp.bfloat16, jnp.float32)
