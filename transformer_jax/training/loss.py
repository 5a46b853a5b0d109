"""Cross-entropy with label smoothing, section 5.4, as sums: whoever has all sums divides, once.

The right token has probability 1 - eps and every other eps / (V - 1), as in the authors' code, which also subtracts the
entropy of that target, a constant. Positions of the pad id count nothing.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from transformer_jax.special_ids import PAD_ID

# Positions whose logits exist at a time: [batch, time, vocab] in float32 would be the largest array of the whole step.
_CHUNK = 512


class Sums(NamedTuple):
    """Sums over the tokens that are not padding. Only `loss` has a gradient."""

    loss: Float[Array, ""]  # nats, against the smoothed target
    negative_log_likelihood: Float[Array, ""]  # nats, against the target itself
    tokens: Float[Array, ""]


def total(sums: list[Sums]) -> list[float]:
    """The sums of many batches as one: loss, negative log-likelihood, tokens."""
    return np.asarray(jax.device_get(sums), np.float64).sum(0).tolist()


def label_smoothed_cross_entropy(
    logits: Float[Array, "*B vocab"], targets: Int[Array, "*B"], label_smoothing: float
) -> Sums:
    """The sums of -sum_v q(v) log p(v) and of -log p(target), with q the smoothed target and p = softmax(logits)."""
    each_other = label_smoothing / (logits.shape[-1] - 1)
    log_normalizer = jax.nn.logsumexp(logits, axis=-1)
    right = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    expected = (1.0 - label_smoothing - each_other) * right + each_other * logits.sum(-1)
    real = (targets != PAD_ID).astype(jnp.float32)
    nll = jax.lax.stop_gradient(log_normalizer - right)
    return Sums(((log_normalizer - expected) * real).sum(), (nll * real).sum(), real.sum())


def chunked_cross_entropy(
    outputs: Float[Array, "B T D"], table: Float[Array, "vocab D"], targets: Int[Array, "B T"], label_smoothing: float
) -> Sums:
    """`label_smoothed_cross_entropy` of the logits outputs @ table^T, whose full array never exists.

    The gradient is made on the way forward, while a chunk's logits are at hand.
    """
    positions = targets.size
    padding = -positions % _CHUNK
    flat = jnp.pad(outputs.reshape(positions, -1), ((0, padding), (0, 0)))
    flat_targets = jnp.pad(targets.reshape(positions), (0, padding), constant_values=PAD_ID)
    chunks = flat.reshape(-1, _CHUNK, flat.shape[-1]), flat_targets.reshape(-1, _CHUNK)
    return _summed(chunks[0], table, chunks[1], label_smoothing)


def _logits(outputs: Float[Array, "N D"], table: Float[Array, "vocab D"]) -> Float[Array, "N vocab"]:
    return jnp.einsum("nd,vd->nv", outputs, table.astype(outputs.dtype), preferred_element_type=jnp.float32)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def _summed(
    outputs: Float[Array, "chunks N D"], table: Float[Array, "vocab D"], targets: Int[Array, "chunks N"], eps: float
) -> Sums:
    def add(sums: Sums, chunk: tuple[Array, Array]) -> tuple[Sums, None]:
        new = label_smoothed_cross_entropy(_logits(chunk[0], table), chunk[1], eps)
        return jax.tree.map(jnp.add, sums, new), None

    return jax.lax.scan(add, _no_sums(), (outputs, targets))[0]


def _summed_with_gradient(
    outputs: Float[Array, "chunks N D"], table: Float[Array, "vocab D"], targets: Int[Array, "chunks N"], eps: float
) -> tuple[Sums, tuple[Float[Array, "chunks N D"], Float[Array, "vocab D"]]]:
    def add(carry: tuple[Sums, Array], chunk: tuple[Array, Array]) -> tuple[tuple[Sums, Array], Array]:
        sums, table_gradient = carry
        logits = _logits(chunk[0], table)
        new = label_smoothed_cross_entropy(logits, chunk[1], eps)
        error = _logits_gradient(logits, chunk[1], eps).astype(outputs.dtype)
        outputs_gradient = error @ table.astype(outputs.dtype)
        table_gradient += jnp.einsum("nv,nd->vd", error, chunk[0], preferred_element_type=jnp.float32)
        return (jax.tree.map(jnp.add, sums, new), table_gradient), outputs_gradient

    start = _no_sums(), jnp.zeros(table.shape, jnp.float32)
    (sums, table_gradient), outputs_gradient = jax.lax.scan(add, start, (outputs, targets))
    return sums, (outputs_gradient, table_gradient.astype(table.dtype))


def _logits_gradient(logits: Float[Array, "N vocab"], targets: Int[Array, "N"], eps: float) -> Float[Array, "N vocab"]:
    """p - q where there is a token, else 0."""
    each_other = eps / (logits.shape[-1] - 1)
    is_right = jnp.arange(logits.shape[-1]) == targets[:, None]
    smoothed = jnp.where(is_right, 1.0 - eps, each_other)
    return jnp.where((targets != PAD_ID)[:, None], jax.nn.softmax(logits, axis=-1) - smoothed, 0.0)


def _scale_gradient(
    _eps: float, gradient: tuple[Array, Array], cotangent: Sums
) -> tuple[Float[Array, "chunks N D"], Float[Array, "vocab D"], None]:
    outputs_gradient, table_gradient = (part * cotangent.loss.astype(part.dtype) for part in gradient)
    return outputs_gradient, table_gradient, None


_summed.defvjp(_summed_with_gradient, _scale_gradient)


def _no_sums() -> Sums:
    return Sums(*jnp.zeros((3,), jnp.float32))
