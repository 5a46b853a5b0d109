"""Scaled dot-product and multi-head attention, section 3.2.

Attention reads a *memory*, the projected keys and values. Encoder self-attention, masked decoder self-attention,
attention over the encoder's output and cached decoding are one module with four memories.
"""

from collections.abc import Callable
from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from transformer_jax.model.dropout import Dropout
from transformer_jax.model.initializers import uniform_fan_in


class Memory(NamedTuple):
    """What queries attend to. Heads stand before positions: a step of cached decoding then reads contiguous rows."""

    keys: Float[Array, "*B H M K"]
    values: Float[Array, "*B H M V"]


def masked_softmax(scores: Float[Array, "B H Q M"], mask: Bool[Array, "#B #H #Q #M"]) -> Float[Array, "B H Q M"]:
    """Softmax in float32 over the positions the mask allows; a row that allows none is zero, with zero gradient."""
    scores = jnp.where(mask, scores.astype(jnp.float32), jnp.finfo(jnp.float32).min)
    return jnp.where(mask, jax.nn.softmax(scores, axis=-1), 0.0)


def scaled_dot_product_attention(
    queries: Float[Array, "B H Q K"],
    memory: Memory,
    mask: Bool[Array, "#B #H #Q #M"],
    drop: Callable[[Array], Array] = lambda weights: weights,
) -> tuple[Float[Array, "B H Q V"], Float[Array, "B H Q M"]]:
    """softmax(Q K^T / sqrt(d_k)) V, equation (1), and the softmax's weights.

    Args:
      queries: projected queries.
      memory: projected keys [B, H, M, K] and values [B, H, M, V].
      mask: True where a query may attend; a query that may attend nowhere gets zeros.
      drop: applied to the weights before they meet the values (attention dropout).
    """
    d_k = queries.shape[-1]
    scores = jnp.einsum("bhqk,bhmk->bhqm", queries * d_k**-0.5, memory.keys)
    weights = masked_softmax(scores, mask)
    return jnp.einsum("bhqm,bhmv->bhqv", drop(weights).astype(queries.dtype), memory.values), weights


class Projection(nn.Module):
    """x W (+ b) from axes `in_shape` at the end of x to axes `out_shape`, written as an einsum."""

    equation: str
    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    use_bias: bool

    @nn.compact
    def __call__(self, x: Array) -> Array:
        in_axes = tuple(range(len(self.in_shape)))
        out_axes = tuple(range(len(self.in_shape), len(self.in_shape) + len(self.out_shape)))
        initializer = uniform_fan_in(in_axes=in_axes, out_axes=out_axes)
        kernel = self.param("kernel", initializer, self.in_shape + self.out_shape)
        y = jnp.einsum(self.equation, x, kernel.astype(x.dtype))
        if not self.use_bias:
            return y
        bias = self.param("bias", nn.initializers.zeros, self.out_shape).astype(x.dtype)
        return y + (bias[:, None, :] if bias.ndim == 2 else bias)  # [H, K] meets [B, H, positions, K]


class MultiHeadAttention(nn.Module):
    """Concat(head_1, ..., head_h) W_O, section 3.2.2, with h, d_k and d_v free of d_model."""

    d_model: int
    num_heads: int
    d_k: int
    d_v: int
    use_bias: bool
    dropout_rate: float

    def setup(self) -> None:
        to_heads = "btd,dhk->bhtk"
        model, heads_k, heads_v = (self.d_model,), (self.num_heads, self.d_k), (self.num_heads, self.d_v)
        self.query = Projection(to_heads, model, heads_k, self.use_bias)
        self.key = Projection(to_heads, model, heads_k, self.use_bias)
        self.value = Projection(to_heads, model, heads_v, self.use_bias)
        self.output = Projection("bhqv,hvd->bqd", heads_v, model, self.use_bias)
        self.dropout = Dropout(self.dropout_rate)

    def memory(self, x: Float[Array, "B M D"]) -> Memory:
        """The keys and values of `x`."""
        return Memory(self.key(x), self.value(x))

    def attend(
        self, x: Float[Array, "B Q D"], memory: Memory, mask: Bool[Array, "#B #H #Q #M"], *, deterministic: bool
    ) -> tuple[Float[Array, "B Q D"], Float[Array, "B H Q M"]]:
        """Queries of `x` attend to `memory`. Returns the output and each head's weights."""

        def drop(weights: Array) -> Array:
            return self.dropout(weights, deterministic=deterministic)

        heads, weights = scaled_dot_product_attention(self.query(x), memory, mask, drop)
        return self.output(heads), weights
