"""The weights of every head, as the pictures of attention show them."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpy_oracle as oracle
import pytest

from transformer_jax.model.transformer import AttentionWeights, Transformer

SOURCE = [[7, 11, 5, 29, 2], [3, 36, 2, 0, 0]]
TARGET = [[31, 8, 8, 17, 5, 23, 2], [13, 4, 2, 0, 0, 0, 0]]
HEADS, LAYERS = 3, 2


@partial(jax.jit, static_argnums=0)
def weights_of(model: Transformer, variables: Any) -> AttentionWeights:
    return model.apply(variables, jnp.array(SOURCE), jnp.array(TARGET), method="attention_weights")


@pytest.fixture
def weights(small_model, build) -> AttentionWeights:
    return weights_of(*build(small_model))


def test_shapes_and_sums(weights):
    for of_layers, shape in zip(weights, [(2, HEADS, 5, 5), (2, HEADS, 7, 7), (2, HEADS, 7, 5)], strict=True):
        assert [layer.shape for layer in of_layers] == [shape] * LAYERS
        for layer in of_layers:
            np.testing.assert_allclose(layer.sum(-1), 1.0, rtol=1e-5)
            assert (layer >= 0).all()


def test_no_weight_is_on_padding_or_on_the_future(weights):
    for layer in (*weights.encoder, *weights.source):
        assert (layer[1, ..., 3:] == 0).all()
        assert (layer[0] > 0).all()
    for layer in weights.decoder:
        assert (np.triu(layer, 1) == 0).all()
        assert (layer[..., np.arange(7), np.arange(7)] > 0).all()


def test_the_first_layer_s_weights_agree_with_numpy(weights, small_model, build):
    params = build(small_model)[1]["params"]
    table = np.asarray(params["source_embedding"]["table"], np.float64)
    x = table[SOURCE[0]] * 14**0.5 + oracle.sinusoids(5, 14)
    _, expected = oracle.multi_head_attention(x, x, params["encoder"]["layers_0"]["self_attention"])
    np.testing.assert_allclose(weights.encoder[0][0], expected, atol=1e-5)
    y = table[[1, *TARGET[0][:-1]]] * 14**0.5 + oracle.sinusoids(7, 14)
    _, expected = oracle.multi_head_attention(
        y, y, params["decoder"]["layers_0"]["self_attention"], oracle.UP_TO_ITS_OWN
    )
    np.testing.assert_allclose(weights.decoder[0][0], expected, atol=1e-5)
