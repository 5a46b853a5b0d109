"""Section 3.2.1: what scaling does to dot products, and additive attention beside them."""

import jax
import numpy as np
import pytest

from transformer_jax.analysis.complexity.attention_functions import (
    ADDITIVE,
    FUNCTIONS,
    SCALED,
    UNSCALED,
    AdditiveParameters,
    additive_parameters,
    attend,
    score_function,
    softness,
    weights,
)


def vectors(number: int, d_k: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(number, d_k)).astype(np.float32)


def parameters_of(d_k: int) -> AdditiveParameters:
    w, u = (vectors(d_k, d_k, seed) / d_k**0.5 for seed in (3, 4))
    return AdditiveParameters(w, u, vectors(1, d_k, seed=5)[0] / d_k**0.5)


def scores(name: str, queries: np.ndarray, keys: np.ndarray, parameters) -> np.ndarray:
    """Pair by pair."""
    found = np.zeros((len(queries), len(keys)))
    w, u, v = (np.asarray(each, np.float64) for each in parameters)
    for q, k in np.ndindex(found.shape):
        found[q, k] = {
            UNSCALED: queries[q] @ keys[k],
            SCALED: queries[q] @ keys[k] / np.sqrt(queries.shape[1]),
            ADDITIVE: np.tanh(w @ queries[q] + u @ keys[k]) @ v,
        }[name]
    return found


def oracle(name: str, queries: np.ndarray, keys: np.ndarray, parameters) -> np.ndarray:
    """The weights."""
    raised = np.exp(scores(name, queries, keys, parameters))
    return raised / raised.sum(axis=1, keepdims=True)


def jacobian(function, x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """[input, output], by central differences."""
    return np.array([(function(x + step * one) - function(x - step * one)) / (2 * step) for one in np.eye(len(x))])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_weights_sums_and_softness_are_those_of_the_scores(name):
    """Softness: medians, of three queries the middle one."""
    parameters = parameters_of(5)
    queries, keys, values = vectors(3, 5), vectors(4, 5, seed=1), vectors(4, 2, seed=2)
    q, k = np.asarray(queries, np.float64), np.asarray(keys, np.float64)
    expected = oracle(name, q, k, parameters)
    score = score_function(name, parameters)
    found = jax.jit(lambda q, k, v: (weights(score, q, k), attend(score, q, k, v), softness(score, q, k)))
    found_weights, sums, soft = found(queries, keys, values)
    np.testing.assert_allclose(found_weights, expected, rtol=1e-5)
    np.testing.assert_allclose(sums, expected @ values, rtol=1e-4, atol=1e-6)
    each = []
    for query, p in zip(q, expected, strict=True):
        by_query = jacobian(lambda query: oracle(name, query[None], k, parameters)[0], query)
        by_scores = jacobian(lambda scores: np.exp(scores) / np.exp(scores).sum(), np.log(p))
        each.append([-(p * np.log(p)).sum(), np.linalg.norm(by_scores), np.linalg.norm(by_query)])
    np.testing.assert_allclose(soft, np.sort(each, axis=0)[1], rtol=1e-4)


def test_even_weights_and_one_that_has_all():
    """log M nats, and a gradient of norm sqrt(M - 1) / M; none, and none."""
    soft = jax.jit(lambda query, keys: softness(score_function(UNSCALED, parameters_of(3)), query, keys))
    even = soft(np.zeros((1, 3), np.float32), vectors(5, 3))
    np.testing.assert_allclose(even[:2], [np.log(5), np.sqrt(4) / 5], rtol=1e-5)
    longer_and_longer = np.outer(np.arange(5), np.ones(3)).astype(np.float32)
    np.testing.assert_allclose(soft(np.full((1, 3), 50, np.float32), longer_and_longer), [0, 0, 0], atol=1e-6)


def test_only_unscaled_products_harden_as_d_k_grows():
    """The claim: their variance is d_k, the softmax saturates and its gradient vanishes. 1 / sqrt(d_k) undoes it."""

    @jax.jit
    def of_all(queries, keys, parameters):
        return {name: softness(score_function(name, parameters), queries, keys) for name in FUNCTIONS}

    soft = {}
    for d_k in (4, 512):
        queries, keys = vectors(101, d_k), vectors(32, d_k, seed=1)
        soft[d_k] = of_all(queries, keys, parameters_of(d_k))
        assert np.var(queries @ keys.T) == pytest.approx(d_k, rel=0.3)
    for name in (SCALED, ADDITIVE):
        np.testing.assert_allclose(soft[512][name][:2], soft[4][name][:2], rtol=0.25)
    hard, before = soft[512][UNSCALED], soft[4][UNSCALED]
    assert hard.entropy < 0.05 < 1.5 < before.entropy
    assert hard.softmax_gradient < 0.1 * before.softmax_gradient
    assert hard.query_gradient < 0.3 * before.query_gradient


@pytest.mark.slow
def test_additive_parameters_keep_the_variance_of_queries_and_keys():
    w, u, v = map(np.asarray, additive_parameters(jax.random.key(0), 64))
    assert (w.shape, u.shape, v.shape) == ((64, 64), (64, 64), (64,))
    assert not np.allclose(w, u)
    for matrix in (w, u):
        assert np.var(vectors(100, 64) @ matrix.T) == pytest.approx(1, rel=0.1)
    assert np.linalg.norm(v) == pytest.approx(1, rel=0.3)
