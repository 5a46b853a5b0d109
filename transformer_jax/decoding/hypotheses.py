"""Hypotheses of a search, and how they are scored, section 6.1."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Int32

NONE = -jnp.inf  # the log-probability and the score of a slot that holds no hypothesis


class Hypotheses(NamedTuple):
    """Hypotheses of each sentence, best first. A slot without one has length 0 and the scores -inf."""

    ids: Int[Array, "B beam T"]  # the end token included; then padding
    lengths: Int[Array, "B beam"]  # tokens, the end token included
    scores: Float[Array, "B beam"]  # log P / length penalty
    log_probs: Float[Array, "B beam"]  # log P
    finished: Bool[Array, "B beam"]  # ends with the end token; False: cut off at the sentence's limit


def no_hypotheses(batch: int, beam: int, steps: int, pad_id: int) -> Hypotheses:
    none = jnp.full((batch, beam), NONE, jnp.float32)
    ids = jnp.full((batch, beam, steps), pad_id, jnp.int32)
    return Hypotheses(ids, jnp.zeros((batch, beam), jnp.int32), none, none, jnp.zeros((batch, beam), bool))


def length_penalty(length: Int[Array, "*shape"] | int, *, alpha: float, offset: float) -> Float[Array, "*shape"]:
    """((offset + length) / (offset + 1)) ** alpha. The end token counts; alpha 0 does not normalise at all.

    Offset 5 is GNMT's and the paper's (Wu et al. 2016, section 7), offset 0 gives length ** alpha.
    """
    return ((offset + jnp.asarray(length, jnp.float32)) / (offset + 1)) ** alpha


def gather_beams(tree: Any, places: Int[Array, "B places"]) -> Any:
    """Leaves [B, beam, ...] of `tree` reordered along their second axis: [B, places, ...]."""

    def gather(leaf: Array) -> Array:
        index = places.reshape(places.shape + (1,) * (leaf.ndim - 2))
        return jnp.take_along_axis(leaf, index, axis=1, mode="clip")  # the default mode would search for NaN to fill in

    return jax.tree.map(gather, tree)


def retire(finished: Hypotheses, newcomers: Hypotheses) -> Hypotheses:
    """The best by score of the `finished` hypotheses and the `newcomers`, as many as `finished` has slots.

    Of equals the older stays, so that a newcomer of score -inf displaces nothing, not even an empty slot.
    """
    pool = jax.tree.map(lambda old, new: jnp.concatenate([old, new], axis=1), finished, newcomers)
    _, places = jax.lax.top_k(pool.scores, finished.scores.shape[1])
    return gather_beams(pool, places)


def where_rows(chosen: Bool[Array, "B"], new: Any, old: Any) -> Any:
    """The rows of `new` that are `chosen`, and the others of `old`, leaf by leaf."""

    def choose(new: Array, old: Array) -> Array:
        return jnp.where(chosen.reshape((-1,) + (1,) * (new.ndim - 1)), new, old)

    return jax.tree.map(choose, new, old)


def pad_steps(ids: Int32[Array, "B beam T"], steps: int, pad_id: int) -> Int32[Array, "B beam steps"]:
    """Room for `steps` steps."""
    return jnp.pad(ids, ((0, 0), (0, 0), (0, steps - ids.shape[2])), constant_values=pad_id)
