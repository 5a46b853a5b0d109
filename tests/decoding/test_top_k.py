"""The search for the largest, block by block, is the plain one: values, places, and which of equals comes first."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from transformer_jax.decoding.top_k import top_k

pytestmark = pytest.mark.usefixtures("quick_to_compile")

# Lengths about multiples of the block of 64. The blocks are made use of from 2 k + 1 of them on.
SIZES = [(3, 2), (128, 1), (129, 1), (192, 1), (193, 1), (256, 2), (257, 2), (321, 2), (641, 5), (1023, 7), (1025, 7)]


def rows_of(length: int) -> np.ndarray:
    """Rows full of ties, with few values, with none, in and out of order, and with one value in the last place."""
    rng = np.random.default_rng(length)
    ties = rng.integers(0, 3, (20, length)).astype(np.float32)
    rare = np.where(rng.random((20, length)) < 3 / length, rng.normal(size=(20, length)), -np.inf)
    plain = rng.normal(size=(5, length))
    last = np.full((2, length), -np.inf)
    last[:, -1] = [1.0, -np.finfo(np.float32).max]
    ordered = np.stack([np.arange(length), -np.arange(length), np.arange(length) // 65, np.zeros(length)])
    return np.concatenate([ties, rare, plain, last, ordered, np.full((1, length), -np.inf)]).astype(np.float32)


@pytest.mark.parametrize(("length", "k"), SIZES)
def test_it_is_the_plain_top_k(length, k):
    rows = rows_of(length)
    values, places = jax.jit(partial(top_k, k=k))(rows)
    expected_values, expected_places = jax.lax.top_k(rows, k)
    np.testing.assert_array_equal(values, expected_values)
    np.testing.assert_array_equal(places, expected_places)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_any_axes_before_the_last_and_any_precision(dtype):
    """Eight bits round many values to ties."""
    values = jnp.asarray(np.random.default_rng(1).normal(size=(2, 3, 5, 523)), dtype)
    found, places = jax.jit(partial(top_k, k=3))(values)
    expected, expected_places = jax.lax.top_k(values, 3)
    assert found.dtype == values.dtype
    np.testing.assert_array_equal(found.astype(jnp.float32), expected.astype(jnp.float32))
    np.testing.assert_array_equal(places, expected_places)
