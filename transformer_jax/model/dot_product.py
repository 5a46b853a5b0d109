"""Scaled dot-product attention, section 3.2.1, of queries to a *memory*: projected keys and values."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class Memory(NamedTuple):
    """What queries attend to. Heads stand before positions: a step of cached decoding then reads contiguous rows."""

    keys: Float[Array, "*B M K"]
    values: Float[Array, "*B M V"]


def masked_softmax(scores: Float[Array, "*B Q M"], mask: Bool[Array, "*#B #Q #M"]) -> Float[Array, "*B Q M"]:
    """Softmax in float32 over the positions the mask allows; a row that allows none is zero, with zero gradient."""
    return _masked_softmax(scores, mask)


@jax.custom_vjp
def _masked_softmax(scores: Array, mask: Array) -> Array:
    scores = jnp.where(mask, scores.astype(jnp.float32), jnp.finfo(jnp.float32).min)
    return jnp.where(mask, jax.nn.softmax(scores, axis=-1), 0.0)


class _Kept(NamedTuple):
    """What the softmax's gradient is made of: its weights alone."""

    weights: Array
    like: Array  # of the scores' type


def _softmax_forward(scores: Array, mask: Array) -> tuple[Array, _Kept]:
    weights = jax.lax.optimization_barrier(_masked_softmax(scores, mask))  # else XLA keeps what they were computed from
    return weights, _Kept(weights, jnp.zeros((), scores.dtype))


def _softmax_backward(kept: _Kept, gradient: Array) -> tuple[Array, None]:
    weighted = kept.weights * gradient
    by_scores = weighted - kept.weights * weighted.sum(-1, keepdims=True)
    return by_scores.astype(kept.like.dtype), None


_masked_softmax.defvjp(_softmax_forward, _softmax_backward)


@jax.custom_vjp
def _product(x: Array, y: Array) -> Array:
    return x @ y


def _product_forward(x: Array, y: Array) -> tuple[Array, tuple[Array, Array]]:
    return x @ y, (x, y)


def _product_backward(kept: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    """By x it is a product with y^T as it lies; by y with x^T, which is made."""
    x, y = kept
    return jnp.einsum("...ik,...jk->...ij", gradient, y), _laid_out_transposed(x) @ gradient


_product.defvjp(_product_forward, _product_backward)


def _laid_out_transposed(x: Array) -> Array:
    """x^T. On CPUs it is written to memory: XLA multiplies many small matrices much faster along rows than columns."""
    return jax.lax.platform_dependent(x, cpu=lambda x: jax.lax.optimization_barrier(x.mT), default=lambda x: x.mT)


def scaled_dot_product_attention(
    queries: Float[Array, "*B Q K"],
    memory: Memory,
    mask: Bool[Array, "*#B #Q #M"],
    drop: Callable[[Array], Array] = lambda weights: weights,
) -> tuple[Float[Array, "*B Q V"], Float[Array, "*B Q M"]]:
    """softmax(Q K^T / sqrt(d_k)) V, equation (1), and the softmax's weights, of each sentence and head.

    Args:
      queries: projected queries.
      memory: projected keys [*B, M, K] and values [*B, M, V].
      mask: True where a query may attend; a query that may attend nowhere gets zeros.
      drop: applied to the weights before they meet the values (attention dropout).
    """
    d_k = queries.shape[-1]
    scores = _product(queries * d_k**-0.5, memory.keys.mT)
    weights = masked_softmax(scores, mask)
    return _product(drop(weights).astype(queries.dtype), memory.values), weights
