"""Cross-entropy with label smoothing, section 5.4, as sums: whoever has all sums divides, once.

The paper does not say which ids share eps: `smoothed_target` has four answers. The authors' code also subtracts the
entropy of the smoothed target, a constant. Positions of the pad id count nothing.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from transformer_jax.config import SmoothingOver
from transformer_jax.special_ids import PAD_ID

# Positions whose logits exist at a time: [batch, time, vocab] in float32 would be the largest array of the whole step.
_CHUNK = 512
# Whether the right token has a share of eps too, and which ids have none.
_SHARES: dict[SmoothingOver, tuple[bool, tuple[int, ...]]] = {
    "others": (False, ()),
    "all": (True, ()),
    "others_but_pad": (False, (PAD_ID,)),
    "all_but_pad": (True, (PAD_ID,)),
}


class SmoothedTarget(NamedTuple):
    """The distribution that is to be learned where a token is right: q. It sums to 1; no token is one of `without`."""

    right: float  # q of the right token
    other: float  # q of each other
    without: tuple[int, ...]  # but of these ids, for which it is 0


PLAIN_TARGET = SmoothedTarget(right=1.0, other=0.0, without=())


def smoothed_target(over: SmoothingOver, label_smoothing: float, vocab_size: int) -> SmoothedTarget:
    """1 - eps for the right token; and eps, in equal shares, for

    - "others": the V - 1 ids that are not right, as in the authors' code;
    - "all": all V ids, the right one among them (Szegedy et al. 2016, section 7);
    - "others_but_pad", "all_but_pad": the same without the pad id, V - 2 and V - 1 ids.
    """
    right_shares, without = _SHARES[over]
    each = label_smoothing / (vocab_size - len(without) - (not right_shares))
    return SmoothedTarget(1.0 - label_smoothing + right_shares * each, each, without)


class Sums(NamedTuple):
    """Sums over the tokens that are not padding. Only `loss` has a gradient."""

    loss: Float[Array, ""]  # nats, against the smoothed target
    negative_log_likelihood: Float[Array, ""]  # nats, against the target itself
    tokens: Float[Array, ""]


def total(sums: list[Sums]) -> list[float]:
    """The sums of many batches as one: loss, negative log-likelihood, tokens."""
    return np.asarray(jax.device_get(sums), np.float64).sum(0).tolist()


def label_smoothed_cross_entropy(
    logits: Float[Array, "*B vocab"], targets: Int[Array, "*B"], smoothed: SmoothedTarget
) -> Sums:
    """The sums of -sum_v q(v) log p(v) and of -log p(target), with q the smoothed target and p = softmax(logits)."""
    log_normalizer = jax.nn.logsumexp(logits, axis=-1)
    right = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    expected = (smoothed.right - smoothed.other) * right + smoothed.other * _sum_but(smoothed.without, logits)
    real = (targets != PAD_ID).astype(jnp.float32)
    nll = jax.lax.stop_gradient(log_normalizer - right)
    return Sums(((log_normalizer - expected) * real).sum(), (nll * real).sum(), real.sum())


def _sum_but(without: tuple[int, ...], logits: Float[Array, "*B vocab"]) -> Float[Array, "*B"]:
    rest = logits.sum(-1)
    for id in without:
        rest -= logits[..., id]
    return rest


def chunked_cross_entropy(
    outputs: Float[Array, "B T D"], table: Float[Array, "vocab D"], targets: Int[Array, "B T"], smoothed: SmoothedTarget
) -> Sums:
    """`label_smoothed_cross_entropy` of the logits outputs @ table^T, whose full array never exists.

    The gradient is made on the way forward, while a chunk's logits are at hand. Padding has no logits, but for what
    fills up the last chunk.
    """
    return _summed(outputs.reshape(targets.size, -1), table, targets.reshape(-1), smoothed)


class _Chunks(NamedTuple):
    """Positions in another order: those of tokens first."""

    outputs: Float[Array, "chunks N D"]
    targets: Int[Array, "chunks N"]
    needed: Int[Array, ""]  # chunks in which there is a token
    places: Int[Array, "positions"]  # where each position has gone


def _chunks(outputs: Float[Array, "positions D"], targets: Int[Array, "positions"]) -> _Chunks:
    order = jnp.argsort(targets == PAD_ID, stable=True)
    filling = -targets.size % _CHUNK
    ordered = jnp.pad(outputs[order], ((0, filling), (0, 0))).reshape(-1, _CHUNK, outputs.shape[-1])
    ordered_targets = jnp.pad(targets[order], (0, filling), constant_values=PAD_ID).reshape(-1, _CHUNK)
    needed = (ordered_targets[:, 0] != PAD_ID).sum()
    return _Chunks(ordered, ordered_targets, needed, jnp.argsort(order))


def _logits(outputs: Float[Array, "N D"], table: Float[Array, "vocab D"]) -> Float[Array, "N vocab"]:
    return jnp.einsum("nd,vd->nv", outputs, table.astype(outputs.dtype), preferred_element_type=jnp.float32)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def _summed(
    outputs: Float[Array, "positions D"],
    table: Float[Array, "vocab D"],
    targets: Int[Array, "positions"],
    smoothed: SmoothedTarget,
) -> Sums:
    chunks = _chunks(outputs, targets)

    def add(i: Array, sums: Sums) -> Sums:
        new = label_smoothed_cross_entropy(_logits(chunks.outputs[i], table), chunks.targets[i], smoothed)
        return jax.tree.map(jnp.add, sums, new)

    return jax.lax.fori_loop(0, chunks.needed, add, _no_sums())


def _summed_with_gradient(
    outputs: Float[Array, "positions D"],
    table: Float[Array, "vocab D"],
    targets: Int[Array, "positions"],
    smoothed: SmoothedTarget,
) -> tuple[Sums, tuple[Float[Array, "positions D"], Float[Array, "vocab D"]]]:
    chunks = _chunks(outputs, targets)

    def add(i: Array, carry: tuple[Sums, Array, Array]) -> tuple[Sums, Array, Array]:
        sums, outputs_gradient, table_gradient = carry
        logits = _logits(chunks.outputs[i], table)
        new = label_smoothed_cross_entropy(logits, chunks.targets[i], smoothed)
        error = _logits_gradient(logits, chunks.targets[i], smoothed).astype(outputs.dtype)
        outputs_gradient = outputs_gradient.at[i].set(error @ table.astype(outputs.dtype))
        table_gradient += jnp.einsum("nv,nd->vd", error, chunks.outputs[i], preferred_element_type=jnp.float32)
        return jax.tree.map(jnp.add, sums, new), outputs_gradient, table_gradient

    start = _no_sums(), jnp.zeros_like(chunks.outputs), jnp.zeros(table.shape, jnp.float32)
    sums, outputs_gradient, table_gradient = jax.lax.fori_loop(0, chunks.needed, add, start)
    in_order = outputs_gradient.reshape(-1, outputs.shape[-1])[chunks.places]
    return sums, (in_order, table_gradient.astype(table.dtype))


def _logits_gradient(
    logits: Float[Array, "N vocab"], targets: Int[Array, "N"], smoothed: SmoothedTarget
) -> Float[Array, "N vocab"]:
    """p - q where there is a token, else 0."""
    ids = jnp.arange(logits.shape[-1])
    q = jnp.where(ids == targets[:, None], smoothed.right, smoothed.other)
    for id in smoothed.without:
        q = jnp.where(ids == id, 0.0, q)
    return jnp.where((targets != PAD_ID)[:, None], jax.nn.softmax(logits, axis=-1) - q, 0.0)


def _scale_gradient(
    _smoothed: SmoothedTarget, gradient: tuple[Array, Array], cotangent: Sums
) -> tuple[Float[Array, "positions D"], Float[Array, "vocab D"], None]:
    outputs_gradient, table_gradient = (part * cotangent.loss.astype(part.dtype) for part in gradient)
    return outputs_gradient, table_gradient, None


_summed.defvjp(_summed_with_gradient, _scale_gradient)


def _no_sums() -> Sums:
    return Sums(*jnp.zeros((3,), jnp.float32))
