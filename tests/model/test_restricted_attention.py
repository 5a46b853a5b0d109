"""Restricted self-attention over blocks, section 4: what full attention gives with the neighbourhood's mask."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy_oracle as oracle
import pytest

from transformer_jax.model.dot_product import Memory, scaled_dot_product_attention
from transformer_jax.model.masks import Neighbourhood, RestrictedMask, centred, trailing
from transformer_jax.model.restricted_attention import blocks_for, restricted_attention

BATCH, HEADS, D_K, D_V = 2, 3, 5, 7


def arrays(length: int) -> tuple[jax.Array, Memory]:
    generator = np.random.default_rng(length)
    queries, keys, values = (
        jnp.asarray(generator.normal(size=(BATCH, HEADS, length, width)), jnp.float32) for width in (D_K, D_K, D_V)
    )
    return queries, Memory(keys, values)


def some_visible(length: int) -> jax.Array:
    """Padding at the end of the first sentence, and holes, some of them wide, in the second."""
    holes = np.random.default_rng(1).random(length) < 0.4
    return jnp.array([np.arange(length) <= 2 * length // 3, holes])


@partial(jax.jit, static_argnums=3)
def both(queries: jax.Array, memory: Memory, visible: jax.Array, neighbourhood: Neighbourhood) -> Any:
    """Outputs and weights, over blocks and with a mask."""
    mask = RestrictedMask(visible, neighbourhood)
    return (
        restricted_attention(queries, memory, mask),
        scaled_dot_product_attention(queries, memory, mask.in_full()),
    )


@pytest.mark.parametrize("sides", [centred, trailing, lambda size: Neighbourhood(0, size - 1)])
@pytest.mark.parametrize("length", [1, 7, 16])
def test_it_is_full_attention_with_a_mask(length, sides):
    """Also where the neighbourhood is longer than the sequence, or divides it, or does not."""
    for size in (1, 2, 3, 4, 6, 20):
        found, expected = both(*arrays(length), some_visible(length), sides(size))
        jax.tree.map(partial(np.testing.assert_allclose, atol=1e-5), found, expected)


@pytest.mark.parametrize(("sides", "around"), [(centred(6), (3, 2)), (trailing(4), (3, 0))])
def test_it_agrees_with_numpy(sides, around):
    queries, memory = arrays(19)
    outputs, _ = restricted_attention(queries, memory, RestrictedMask(jnp.ones((BATCH, 19), bool), sides))
    for place in np.ndindex(BATCH, HEADS):
        of_a_head = (np.asarray(array[place], np.float64) for array in (queries, *memory))
        np.testing.assert_allclose(outputs[place], oracle.attention(*of_a_head, around)[0], atol=1e-5)


def test_its_gradients_are_those_of_full_attention_with_a_mask():
    queries, memory = arrays(19)
    mask, direction = RestrictedMask(some_visible(19), centred(4)), arrays(19)[1].values

    def along(attention, mask, queries, memory):
        return (attention(queries, memory, mask)[0] * direction).sum()

    found = jax.grad(partial(along, restricted_attention, mask), argnums=(0, 1))(queries, memory)
    expected = jax.grad(partial(along, scaled_dot_product_attention, mask.in_full()), argnums=(0, 1))(queries, memory)
    jax.tree.map(partial(np.testing.assert_allclose, atol=1e-5), found, expected)


def test_dropped_weights_meet_the_values_but_whole_ones_are_returned():
    queries, memory = arrays(19)
    mask = RestrictedMask(some_visible(19), centred(4))
    whole, weights = restricted_attention(queries, memory, mask)
    halved, same_weights = restricted_attention(queries, memory, mask, lambda weights: weights / 2)
    np.testing.assert_allclose(halved, whole / 2, rtol=1e-6)
    np.testing.assert_array_equal(same_weights, weights)


def test_no_array_grows_with_the_square_of_the_length():
    """Of what is computed where nobody reads the weights."""

    def largest(length: int) -> int:
        mask = RestrictedMask(jnp.ones((BATCH, length), bool), centred(8))
        program = jax.jit(lambda *arguments: restricted_attention(*arguments, mask)[0]).lower(*arrays(length))
        return program.compile().memory_analysis().temp_size_in_bytes

    assert largest(2048) < 2.2 * largest(1024)


@pytest.mark.parametrize(
    ("neighbourhood", "read"),
    [(centred(1), 1), (centred(9), 12), (centred(8), 12), (trailing(5), 8), (trailing(64), 100)],
)
def test_a_query_meets_at_most_three_blocks_and_never_more_than_there_is(neighbourhood, read):
    assert blocks_for(100, neighbourhood).read == read
