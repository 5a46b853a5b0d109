"""The layers of Table 1 compute what their names say, and XLA's count of them grows as the table's column."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from transformer_jax.analysis.complexity import layers
from transformer_jax.analysis.complexity.layers import Sizes, cell, layer
from transformer_jax.analysis.complexity.operations import counted, operations

SIZES = Sizes(n=11, d=128, k=3, r=6)


def applied(name: str, x: np.ndarray, depth: int = 0) -> tuple[np.ndarray, dict]:
    """The layer's output for `x`, and its parameters, which are random."""
    module = layer(name, SIZES, depth)
    shapes = jax.eval_shape(module.init, jax.random.key(0), x)
    random = np.random.default_rng(1)
    parameters = jax.tree.map(lambda leaf: (random.normal(size=leaf.shape) * 0.1).astype(leaf.dtype), shapes)
    return np.asarray(jax.jit(module.apply)(parameters, x)), parameters.get("params", {})


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(2, SIZES.n, SIZES.d)).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [(layers.SELF_ATTENTION, 99, 99), (layers.RESTRICTED, 3, 2)],
    ids=["full", "restricted"],
)
def test_self_attention_is_a_softmax_over_what_lies_near(name, before, after, x):
    """Position by position, in two heads of 64."""
    outputs, parameters = applied(name, x)
    assert not parameters
    for sentence, position, head in np.ndindex(2, SIZES.n, 2):
        of_head = x[sentence, :, 64 * head : 64 * (head + 1)].astype(np.float64)
        near = of_head[max(0, position - before) : position + after + 1]
        weights = np.exp(near @ of_head[position] / 8)
        expected = weights @ near / weights.sum()
        np.testing.assert_allclose(outputs[sentence, position, 64 * head : 64 * (head + 1)], expected, atol=2e-5)


@pytest.mark.parametrize(
    ("name", "depth", "gap"), [(layers.CONTIGUOUS, 2, 1), (layers.DILATED, 0, 1), (layers.DILATED, 1, 3)]
)
def test_a_convolution_sums_over_its_position_and_those_before(name, depth, gap, x):
    outputs, parameters = applied(name, x, depth)
    expected = np.tile(np.asarray(parameters["bias"], np.float64), (2, SIZES.n, 1))
    for position, tap in np.ndindex(SIZES.n, SIZES.k):
        read = position - gap * (SIZES.k - 1 - tap)
        if read >= 0:
            expected[:, position] += x[:, read] @ parameters["kernel"][tap]
    np.testing.assert_allclose(outputs, expected, atol=1e-4)


@pytest.mark.parametrize("name", layers.NAMES)
def test_all_layers_keep_the_shape(name):
    module, x = layer(name, SIZES, depth=1), jax.ShapeDtypeStruct((2, SIZES.n, SIZES.d), jnp.float32)
    outputs, _ = jax.eval_shape(lambda x: module.init_with_output(jax.random.key(0), x), x)
    assert (outputs.shape, outputs.dtype) == (x.shape, x.dtype)


# Table 1's exponents, and how many multiply-adds there are for each of its units.
COSTS = {
    layers.SELF_ATTENTION: ({"n": 2, "d": 1}, 2),  # scores, weighted sums
    layers.PROJECTED: ({"n": 2, "d": 1}, 2),
    layers.RECURRENT: ({"n": 1, "d": 2}, 8),  # four gates, each of the input and of the state
    layers.CONTIGUOUS: ({"n": 1, "d": 2, "k": 1}, 1),
    layers.DILATED: ({"n": 1, "d": 2, "k": 1}, 1),
    layers.RESTRICTED: ({"n": 1, "d": 1, "r": 1}, 3),  # as full, with blocks of r / 2 and the two beside them
}
BASE = Sizes(n=16384, d=64, k=5, r=32)


@pytest.mark.parametrize("name", layers.NAMES)
def test_operations_grow_as_in_the_table(name):
    """Where n >> d, within 0.15 of the exponents."""
    exponents, multiply_adds = COSTS[name]
    base = operations(name, BASE)
    products = 2 * multiply_adds * np.prod([getattr(BASE, axis) ** power for axis, power in exponents.items()])
    assert 1 <= base / products < 1.06
    for axis, power in exponents.items():
        larger = operations(name, BASE._replace(**{axis: 4 * getattr(BASE, axis)}))
        assert np.log(larger / base) / np.log(4) == pytest.approx(power, abs=0.15), axis


def test_projections_are_what_the_whole_sub_layer_has_more():
    """Four products of n d^2; their share is gone where n >> d."""
    sizes = Sizes(n=48, d=128, k=2, r=2)
    more = operations(layers.PROJECTED, sizes) - operations(layers.SELF_ATTENTION, sizes)
    assert more == pytest.approx(4 * 2 * sizes.n * sizes.d**2, rel=0.01)


@pytest.mark.parametrize(("name", "times"), [(layers.SELF_ATTENTION, 4), (layers.PROJECTED, 2)])
def test_self_attention_costs_what_recurrence_does_where_n_is_some_d(name, times):
    """4 n^2 d = 16 n d^2 at n = 4 d; projections are 8 n d^2 more, so that it is at n = 2 d with them."""
    sizes = Sizes(n=times * 256, d=256, k=2, r=2)
    assert operations(name, sizes) == pytest.approx(operations(layers.RECURRENT, sizes), rel=0.03)


def test_a_recurrent_layer_is_counted_as_if_it_were_unrolled():
    """XLA itself counts a loop's body once: the same for any length, but for what moves the loop on."""
    sizes = Sizes(n=7, d=16, k=2, r=2)
    x = jax.ShapeDtypeStruct((1, sizes.n, sizes.d), jnp.float32)

    def whole(**options: int) -> float:
        module = nn.RNN(cell(sizes), **options)
        return counted(module.apply, jax.eval_shape(module.init, jax.random.key(0), x), x)

    assert operations(layers.RECURRENT, sizes) == whole(unroll=sizes.n)
    assert whole() == pytest.approx(operations(layers.RECURRENT, sizes) / sizes.n, abs=4)


def test_a_count_is_two_a_multiply_add():
    a, b = (jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((3, 5), (5, 7)))
    assert counted(jnp.matmul, a, b) == 2 * 3 * 5 * 7
