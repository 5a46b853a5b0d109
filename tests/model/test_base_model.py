"""The model of `base.gin`: its parameters name by name, and how wide what its parts give is. Nothing is computed.

One layer stands for its six, which are alike (`test_parameters.py`).
"""

import dataclasses
from pathlib import Path
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import pytest
from random_params import param_shapes

from experiments.gin_bindings import load_experiment
from transformer_jax import config
from transformer_jax.model.attention import MultiHeadAttention
from transformer_jax.model.embedding import Embedding
from transformer_jax.model.feed_forward import FeedForward
from transformer_jax.model.layers import DecoderLayer, EncoderLayer
from transformer_jax.model.transformer import Decoder, Encoder, Transformer

VOCAB_SIZE = 37
KINDS = (Embedding, MultiHeadAttention, FeedForward, EncoderLayer, DecoderLayer, Encoder, Decoder)
NORM = {"LayerNorm_0": {"bias": (512,), "scale": (512,)}}
# Section 3.2.2: W_Q and W_K are d_model x d_k and W_V is d_model x d_v in each head, W_O is h d_v x d_model; no biases.
ATTENTION = {
    "query": {"kernel": (512, 8, 64)},
    "key": {"kernel": (512, 8, 64)},
    "value": {"kernel": (512, 8, 64)},
    "output": {"kernel": (8, 64, 512)},
}
# Equation (2), with biases.
FEED_FORWARD = {
    "inner": {"kernel": (512, 2048), "bias": (2048,)},
    "outer": {"kernel": (2048, 512), "bias": (512,)},
}
SUBLAYERS = {"self_attention": ATTENTION, "source_attention": ATTENTION, "feed_forward": FEED_FORWARD}


@pytest.fixture(scope="module")
def base() -> config.Model:
    model = load_experiment([Path(__file__).resolve().parents[2] / "gin_configs" / "base.gin"]).model
    return dataclasses.replace(model, num_layers=1)


@pytest.fixture(scope="module")
def shapes(base) -> Any:
    return param_shapes(base, VOCAB_SIZE)


def layer(*sublayers: str) -> dict[str, Any]:
    return {name: SUBLAYERS[name] for name in sublayers} | {f"{name}_residual": NORM for name in sublayers}


def test_it_has_the_paper_s_parameters_and_no_others(shapes):
    """No bias in attention or under the softmax, one table, nothing for positions, no norm outside the layers."""
    assert jax.tree.map(lambda leaf: leaf.shape, shapes) == {
        "source_embedding": {"table": (VOCAB_SIZE, 512)},
        "encoder": {"layers_0": layer("self_attention", "feed_forward")},
        "decoder": {"layers_0": layer("self_attention", "source_attention", "feed_forward")},
    }


def test_embeddings_sub_layers_and_layers_give_vectors_of_d_model(base, shapes):
    widths: dict[str, set[int]] = {}

    def listen(call: Any, args: tuple, kwargs: dict, context: nn.module.InterceptorContext) -> Any:
        result = call(*args, **kwargs)
        method = "attend" if isinstance(context.module, MultiHeadAttention) else "__call__"
        if isinstance(context.module, KINDS) and context.method_name == method:
            output = result[0] if isinstance(result, tuple) else result
            widths.setdefault(type(context.module).__name__, set()).add(output.shape[-1])
        return result

    ids = jnp.ones((2, 3), jnp.int32)
    with nn.intercept_methods(listen):
        model = Transformer(base, VOCAB_SIZE)
        jax.eval_shape(lambda params: model.apply({"params": params}, ids, ids, deterministic=True), shapes)
    assert widths.keys() == {kind.__name__ for kind in KINDS}
    assert all(found == {512} for found in widths.values())
