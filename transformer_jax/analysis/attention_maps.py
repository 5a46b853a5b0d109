"""Where heads look, in numbers: statistics of attention weights over any number of sentences (Figures 3 to 5).

What a batch gives are sums over queries, so that batches can be added up; `means` divides once.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import entr
from jaxtyping import Array, Bool, Float, Int

from transformer_jax.model.transformer import AttentionWeights
from transformer_jax.special_ids import EOS_ID, PAD_ID


class HeadStatistics(NamedTuple):
    """Of every head, over queries i that each look at memory positions j: a sum, or after `means` a mean."""

    entropy: Float[Array, "layers H"]  # nats: 0 of one position alone, log n of n alike
    distance: Float[Array, "layers H"]  # |i - j|, weighted
    diagonality: Float[Array, "layers H"]  # the weight within one position of the diagonal, see `near_diagonal`
    marked: Float[Array, "layers H"]  # the weight on marked positions
    queries: Int[Array, ""]  # how many, in both cases


class StackStatistics(NamedTuple):
    """Of the three kinds of attention. Marked is the end token; in the decoder, which reads none, the begin token."""

    encoder: HeadStatistics
    decoder: HeadStatistics
    source: HeadStatistics


def head_sums(
    weights: Float[Array, "layers B H Q M"],
    queries: Bool[Array, "B Q"],
    memory: Bool[Array, "B M"],
    marked: Bool[Array, "B M"],
) -> HeadStatistics:
    """Sums over the queries that are tokens.

    Args:
      queries: True at tokens, all of which come before the padding; so is `memory`.
      marked: the memory positions whose weight is to be told.
    """
    weights = weights.astype(jnp.float32)
    i, j = jnp.arange(weights.shape[-2])[:, None], jnp.arange(weights.shape[-1])
    near = near_diagonal(queries.sum(1), memory.sum(1), *weights.shape[-2:])
    return HeadStatistics(
        entropy=jnp.einsum("lbhqm,bq->lh", entr(weights), queries),
        distance=jnp.einsum("lbhqm,bq,qm->lh", weights, queries, jnp.abs(i - j)),
        diagonality=jnp.einsum("lbhqm,bq,bqm->lh", weights, queries, near),
        marked=jnp.einsum("lbhqm,bq,bm->lh", weights, queries, marked),
        queries=queries.sum(),
    )


def near_diagonal(
    queries: Int[Array, "B"], memory: Int[Array, "B"], most_queries: int, most_memory: int
) -> Bool[Array, "B {most_queries} {most_memory}"]:
    """Where j is within 1 of the line from the first query at the first position to the last at the last.

    Where both sides have one length, which `queries` and `memory` give, that is where |i - j| <= 1.
    """
    steps = jnp.maximum(queries - 1, 1)[:, None, None]  # the line rises by (memory - 1) / steps
    rise = (memory - 1)[:, None, None]
    i, j = jnp.arange(most_queries)[:, None], jnp.arange(most_memory)
    return jnp.abs(j * steps - i * rise) <= steps


def stack_sums(weights: AttentionWeights, source: Int[Array, "B S"], target: Int[Array, "B T"]) -> StackStatistics:
    """Sums of a batch; rows of padding count for nothing."""
    read, written = source != PAD_ID, target != PAD_ID
    ends = source == EOS_ID
    begins = jnp.broadcast_to(jnp.arange(target.shape[1]) == 0, target.shape)
    return StackStatistics(
        head_sums(weights.encoder, read, read, ends),
        head_sums(weights.decoder, written, written, begins),
        head_sums(weights.source, written, read, ends),
    )


def means(sums: HeadStatistics) -> HeadStatistics:
    """NaN where there was no query."""
    return jax.tree.map(lambda total: total / sums.queries, sums)._replace(queries=sums.queries)
