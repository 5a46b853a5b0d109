"""What a model's parameters are before training."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from transformer_jax import config
from transformer_jax.model.transformer import Transformer

Named = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def drawn() -> dict[config.Model, Named]:
    return {}


@pytest.fixture
def params(small_model, drawn) -> Named:
    """Leaves by path, of a model large enough for its matrices to have a variance."""
    model = dataclasses.replace(
        small_model, num_layers=1, d_model=62, d_ff=89, d_k=13, d_v=17, attention_biases=True, positions="learned"
    )
    if model not in drawn:
        drawn[model] = named(initialize(model, seed=3))
    return drawn[model]


def initialize(model: config.Model, seed: int) -> Any:
    ids = jnp.ones((1, 1), jnp.int32)
    init = jax.jit(lambda key: Transformer(model, 101).init(key, ids, ids, deterministic=True))
    return init(jax.random.key(seed))["params"]


def named(params: Any) -> Named:
    leaves = jax.tree_util.tree_leaves_with_path(params)
    return {"/".join(entry.key for entry in path): np.asarray(leaf) for path, leaf in leaves}


def test_embeddings_have_the_deviation_that_makes_scaled_ones_unit_variance(params):
    tables = {name: leaf for name, leaf in params.items() if name.endswith("table")}
    assert len(tables) == 3  # tokens, and the positions of both stacks
    for table in tables.values():
        assert np.std(table) == pytest.approx(62**-0.5, rel=0.05)
        assert abs(table.mean()) < 0.01
        assert np.abs(table).max() > 2.5 * 62**-0.5, "normal, not uniform"


def test_matrices_are_uniform_with_variance_one_over_fan_in(params):
    kernels = {name: leaf for name, leaf in params.items() if name.endswith("kernel")}
    assert len(kernels) == 3 * 4 + 2 * 2
    for name, kernel in kernels.items():
        fan_in = {"output": 3 * 17, "outer": 89}.get(name.split("/")[-2], 62)
        bound = (3 / fan_in) ** 0.5
        assert np.var(kernel) == pytest.approx(1 / fan_in, rel=0.08), name
        assert 0.99 * bound < np.abs(kernel).max() <= bound, name
        assert abs(kernel.mean()) < 0.06 * bound, name


def test_biases_are_zero_and_scales_one(params):
    biases = [leaf for name, leaf in params.items() if name.endswith("bias")]
    scales = [leaf for name, leaf in params.items() if name.endswith("scale")]
    assert (len(biases), len(scales)) == (3 * 4 + 2 * 2 + 5, 5)
    assert all((bias == 0).all() for bias in biases)
    assert all((scale == 1).all() for scale in scales)


def test_no_two_matrices_of_a_shape_are_alike(params):
    kernels = [leaf.ravel() for name, leaf in params.items() if name.endswith("kernel")]
    for i, kernel in enumerate(kernels):
        for other in kernels[:i]:
            if kernel.size == other.size:
                assert abs(np.corrcoef(kernel, other)[0, 1]) < 0.1


def test_parameters_are_float32_whatever_the_compute_dtype(small_model):
    model = dataclasses.replace(small_model, num_layers=1, compute_dtype="bfloat16")
    assert {leaf.dtype for leaf in jax.tree.leaves(initialize(model, seed=0))} == {np.dtype(np.float32)}
