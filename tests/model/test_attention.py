"""Scaled dot-product and multi-head attention: equation (1) by hand, and against the NumPy model."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpy_oracle as oracle
import pytest

from transformer_jax.model.attention import MultiHeadAttention
from transformer_jax.model.dot_product import Memory, masked_softmax, scaled_dot_product_attention
from transformer_jax.model.masks import causal_mask

BATCH, QUERIES, MEMORY, D_MODEL, HEADS, D_K, D_V = 2, 5, 7, 13, 3, 11, 17


def normal(seed: int, *shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def everywhere(memory_length: int = MEMORY) -> jax.Array:
    return jnp.ones((1, 1, 1, memory_length), bool)


def test_one_query_by_hand():
    """Scores 4 a / sqrt(4) = 0 and ln 3, hence weights 1/4 and 3/4 and the output (4 + 3 * 8) / 4 = 7."""
    query = jnp.ones((1, 1, 1, 4))
    keys = jnp.stack([jnp.zeros(4), jnp.full(4, math.log(3) / 2)])[None, None]
    output, weights = scaled_dot_product_attention(query, Memory(keys, jnp.array([[[[4.0], [8.0]]]])), everywhere(2))
    np.testing.assert_allclose(weights[0, 0, 0], [0.25, 0.75], rtol=1e-6)
    np.testing.assert_allclose(output[0, 0, 0], [7.0], rtol=1e-6)


@pytest.mark.parametrize("causal", [False, True])
def test_equation_1_agrees_with_numpy(causal):
    length = QUERIES if causal else MEMORY
    queries = normal(1, BATCH, HEADS, QUERIES, D_K)
    memory = Memory(normal(2, BATCH, HEADS, length, D_K), normal(3, BATCH, HEADS, length, D_V))
    mask = causal_mask(length) if causal else everywhere()
    outputs, weights = scaled_dot_product_attention(queries, memory, mask)
    for place in np.ndindex(BATCH, HEADS):
        arrays = (np.asarray(array[place], np.float64) for array in (queries, *memory))
        expected_output, expected_weights = oracle.attention(
            *arrays, oracle.UP_TO_ITS_OWN if causal else oracle.EVERYWHERE
        )
        np.testing.assert_allclose(outputs[place], expected_output, atol=1e-5)
        np.testing.assert_allclose(weights[place], expected_weights, atol=1e-5)


@pytest.mark.parametrize("use_bias", [False, True])
def test_multi_head_attention_agrees_with_numpy(use_bias):
    module, params = multi_head(use_bias=use_bias)
    x, y = normal(4, BATCH, QUERIES, D_MODEL), normal(5, BATCH, MEMORY, D_MODEL)
    outputs, weights = attend(module, params, x, y)
    for row in range(BATCH):
        expected, expected_weights = oracle.multi_head_attention(
            np.asarray(x[row], np.float64), np.asarray(y[row], np.float64), params
        )
        np.testing.assert_allclose(outputs[row], expected, atol=1e-5)
        np.testing.assert_allclose(weights[row], expected_weights, atol=1e-5)


def test_keys_and_values_have_widths_of_their_own():
    module, params = multi_head(use_bias=False)
    memory = module.apply({"params": params}, normal(6, BATCH, MEMORY, D_MODEL), method="memory")
    assert memory.keys.shape == (BATCH, HEADS, MEMORY, D_K)
    assert memory.values.shape == (BATCH, HEADS, MEMORY, D_V)
    assert params["output"]["kernel"].shape == (HEADS, D_V, D_MODEL)


def test_what_a_query_may_not_see_has_no_effect():
    """Not even where it would outweigh everything."""
    queries = normal(7, BATCH, HEADS, QUERIES, D_K)
    memory = Memory(normal(8, BATCH, HEADS, MEMORY, D_K), normal(9, BATCH, HEADS, MEMORY, D_V))
    hidden = jnp.arange(MEMORY) >= 4
    loud = Memory(*(jnp.where(hidden[:, None], 1e6, leaf) for leaf in memory))
    expected, _ = scaled_dot_product_attention(queries, Memory(*(leaf[:, :, :4] for leaf in memory)), everywhere(4))
    outputs, weights = scaled_dot_product_attention(queries, loud, ~hidden[None, None, None])
    np.testing.assert_allclose(outputs, expected, atol=1e-6)
    assert (weights[..., 4:] == 0).all()


def test_a_query_that_may_see_nothing_gets_zeros_and_finite_gradients():
    queries = normal(10, BATCH, HEADS, QUERIES, D_K)
    memory = Memory(normal(11, BATCH, HEADS, MEMORY, D_K), normal(12, BATCH, HEADS, MEMORY, D_V))
    mask = jnp.ones((BATCH, 1, QUERIES, MEMORY), bool).at[1, 0, 3].set(False)

    def blind_and_seeing(queries: jax.Array, memory: Memory) -> tuple[jax.Array, jax.Array]:
        outputs, weights = scaled_dot_product_attention(queries, memory, mask)
        return outputs.sum(), (outputs, weights)

    gradients, (outputs, weights) = jax.grad(blind_and_seeing, argnums=(0, 1), has_aux=True)(queries, memory)
    assert (outputs[1, :, 3] == 0).all()
    assert (weights[1, :, 3] == 0).all()
    assert (gradients[0][1, :, 3] == 0).all()
    assert all(jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(gradients))
    np.testing.assert_allclose(weights[0].sum(-1), 1.0, rtol=1e-6)


def test_gradients_are_those_of_equation_1_as_jax_derives_them():
    """Written out with neither our softmax nor our products; queries, positions and both widths are of four sizes."""
    queries = normal(16, BATCH, HEADS, QUERIES, D_K)
    memory = Memory(normal(17, BATCH, HEADS, MEMORY, D_K), normal(18, BATCH, HEADS, MEMORY, D_V))
    direction = normal(19, BATCH, HEADS, QUERIES, D_V)
    mask = jax.random.bernoulli(jax.random.key(20), 0.7, (BATCH, 1, QUERIES, MEMORY)).at[..., 0].set(True)

    def equation_1(queries: jax.Array, memory: Memory) -> jax.Array:
        scores = jnp.einsum("bhqk,bhmk->bhqm", queries, memory.keys) / math.sqrt(D_K)
        weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf))
        return (jnp.einsum("bhqm,bhmv->bhqv", weights / 2, memory.values) * direction).sum()

    def ours(queries: jax.Array, memory: Memory) -> jax.Array:
        outputs, _ = scaled_dot_product_attention(queries, memory, mask, lambda weights: weights / 2)
        return (outputs * direction).sum()

    expected = jax.grad(equation_1, argnums=(0, 1))(queries, memory)
    gradients = jax.jit(jax.grad(ours, argnums=(0, 1)))(queries, memory)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-6), gradients, expected)


def test_scores_of_any_size_have_a_softmax():
    scores = jnp.array([[[[1e30, -1e30, 1e30, 3e38]]]])
    weights = masked_softmax(scores, jnp.array([[[[True, True, True, False]]]]))
    np.testing.assert_allclose(weights[0, 0, 0], [0.5, 0.0, 0.5, 0.0])


def test_the_softmax_s_gradient_by_hand():
    """w = (1/4, 3/4) and nothing: by score i, w_i (g_i - sum_j w_j g_j), here 1/4 (8 - 5) and 3/4 (4 - 5)."""
    scores, mask = jnp.array([[0.0, math.log(3), 7.0]]), jnp.array([[True, True, False]])
    direction = jnp.array([[8.0, 4.0, 100.0]])
    gradient = jax.grad(lambda scores: (masked_softmax(scores, mask) * direction).sum())(scores)
    np.testing.assert_allclose(gradient, [[0.75, -0.75, 0.0]], rtol=1e-5)
    narrow = jax.grad(lambda scores: masked_softmax(scores, mask).sum())(scores.astype(jnp.bfloat16))
    assert narrow.dtype == jnp.bfloat16


def test_the_softmax_is_float32_whatever_the_scores_are():
    assert masked_softmax(jnp.zeros((1, 1, 1, 3), jnp.bfloat16), everywhere(3)).dtype == jnp.float32


def test_dropped_weights_meet_the_values_but_whole_ones_are_returned():
    queries = normal(13, BATCH, HEADS, QUERIES, D_K)
    memory = Memory(normal(14, BATCH, HEADS, MEMORY, D_K), normal(15, BATCH, HEADS, MEMORY, D_V))
    whole, weights = scaled_dot_product_attention(queries, memory, everywhere())
    halved, same_weights = scaled_dot_product_attention(queries, memory, everywhere(), lambda weights: weights / 2)
    np.testing.assert_allclose(halved, whole / 2, rtol=1e-6)
    np.testing.assert_array_equal(same_weights, weights)


def multi_head(*, use_bias: bool) -> tuple[MultiHeadAttention, dict]:
    module = MultiHeadAttention(D_MODEL, HEADS, D_K, D_V, use_bias, dropout_rate=0.0)
    shapes = {
        "query": (D_MODEL, HEADS, D_K),
        "key": (D_MODEL, HEADS, D_K),
        "value": (D_MODEL, HEADS, D_V),
        "output": (HEADS, D_V, D_MODEL),
    }
    params = {name: {"kernel": normal(20 + i, *shape) / 4} for i, (name, shape) in enumerate(shapes.items())}
    if use_bias:
        for i, (name, shape) in enumerate(shapes.items()):
            params[name]["bias"] = normal(30 + i, *(shape[-1:] if name == "output" else shape[1:]))
    return module, params


def attend(module: MultiHeadAttention, params: dict, x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    memory = module.apply({"params": params}, y, method="memory")
    return module.apply({"params": params}, x, memory, everywhere(), deterministic=True, method="attend")
