"""The attention functions that section 3.2.1 compares: dot product, with and without 1 / sqrt(d_k), and additive.

What makes them differ is how far a query's scores lie apart. Products of vectors with components of mean 0 and
variance 1 have variance d_k: without the factor the softmax of a large d_k puts all weight in one place, and there its
gradient vanishes. Additive scores are sums of bounded numbers.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import xlogy
from jaxtyping import Array, Float

SCALED, UNSCALED, ADDITIVE = "dot product / √d_k", "dot product", "additive"
FUNCTIONS = (SCALED, UNSCALED, ADDITIVE)
Score = Callable[[Float[Array, " K"], Float[Array, " K"]], Float[Array, ""]]  # of a query and a key


class AdditiveParameters(NamedTuple):
    """v^T tanh(W q + U k): a network with one hidden layer, as wide as the keys (Bahdanau et al. 2015)."""

    w: Float[Array, "K K"]
    u: Float[Array, "K K"]
    v: Float[Array, " K"]


class Softness(NamedTuple):
    """Medians over queries: a few whose two best scores are nearly equal would make up most of a mean."""

    entropy: Float[Array, ""]  # of the weights, in nats: log M where they are equal, 0 where one has all
    softmax_gradient: Float[Array, ""]  # Frobenius norm of the Jacobian of the weights by their scores
    query_gradient: Float[Array, ""]  # and by the query


def score_function(name: str, additive: AdditiveParameters) -> Score:
    """One of FUNCTIONS; dot products have no parameters."""
    if name == ADDITIVE:
        return lambda query, key: jnp.tanh(additive.w @ query + additive.u @ key) @ additive.v
    if name == SCALED:
        return lambda query, key: query @ key / len(query) ** 0.5
    return lambda query, key: query @ key


def additive_parameters(key: jax.Array, d_k: int) -> AdditiveParameters:
    """Normal, of variance 1 / d_k: components of W q and U k vary as much as those of q and k do."""
    shapes = (d_k, d_k), (d_k, d_k), (d_k,)
    keys = jax.random.split(key, len(shapes))
    values = (jax.random.normal(key, shape) * d_k**-0.5 for key, shape in zip(keys, shapes, strict=True))
    return AdditiveParameters(*values)


def weights(score: Score, queries: Float[Array, "Q K"], keys: Float[Array, "M K"]) -> Float[Array, "Q M"]:
    """The softmax over keys of each query's scores."""
    return jax.nn.softmax(_for_all(score)(queries, keys), axis=-1)


def attend(
    score: Score, queries: Float[Array, "Q K"], keys: Float[Array, "M K"], values: Float[Array, "M V"]
) -> Float[Array, "Q V"]:
    """The values' weighted sums."""
    return weights(score, queries, keys) @ values


def softness(score: Score, queries: Float[Array, "Q K"], keys: Float[Array, "M K"]) -> Softness:
    """How even the weights are, and how much they give way when scores or queries change."""
    p = weights(score, queries, keys)
    by_scores = p[:, :, None] * (jnp.eye(p.shape[1]) - p[:, None, :])  # [query, weight, score]
    by_queries = by_scores @ _for_all(jax.grad(score))(queries, keys)  # [query, weight, component of the query]
    norms = (jnp.linalg.norm(jacobian, axis=(1, 2)) for jacobian in (by_scores, by_queries))
    return Softness(*map(jnp.median, (-xlogy(p, p).sum(axis=1), *norms)))


def _for_all(function: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    """Of each query and each key."""
    return jax.vmap(jax.vmap(function, in_axes=(None, 0)), in_axes=(0, None))
