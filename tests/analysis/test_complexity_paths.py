"""Path lengths, read off Jacobians, against the formulas; chains of products, against ones made up by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from transformer_jax.analysis.complexity import layers
from transformer_jax.analysis.complexity.dependency_chain import sequential_products
from transformer_jax.analysis.complexity.layers import Sizes, layer
from transformer_jax.analysis.complexity.path_length import (
    FORMULAS,
    layer_influences,
    measured_path_length,
    path_length,
    steps_to_connect,
)

# On both sides of where another layer is needed: reaches of k - 1 = 2 and r // 2 = 3, powers of k = 3.
FEW = (Sizes(9, 2, 3, 7), Sizes(10, 2, 3, 6))
MANY = [Sizes(n, 2, k, r) for n in (1, 2, 9, 10, 27, 28, 64) for k, r in ((2, 3), (3, 8), (7, 13))]


@pytest.mark.parametrize("name", layers.NAMES)
def test_a_measured_path_is_the_formula_s(name):
    for sizes in FEW:
        assert measured_path_length(name, sizes) == path_length(name, sizes), sizes


@pytest.mark.slow
@pytest.mark.parametrize("name", layers.NAMES)
def test_many_measured_paths_are_the_formula_s(name):
    for sizes in MANY:
        assert measured_path_length(name, sizes) == path_length(name, sizes), sizes


def test_hand_worked_paths():
    """Of 28 positions at k = 3, r = 9: 27 to go, by 1, by 2, by 1 + 2 x 13 = 3^3 - 1 and 2 x 27 more, and by 4."""
    sizes = Sizes(28, 2, 3, 9)
    assert {name: path_length(name, sizes) for name in layers.NAMES} == {
        layers.SELF_ATTENTION: 1, layers.PROJECTED: 1, layers.RECURRENT: 28, layers.CONTIGUOUS: 14,
        layers.DILATED: 4, layers.RESTRICTED: 7,
    }  # fmt: skip
    assert path_length(layers.DILATED, sizes._replace(n=27)) == 3
    assert FORMULAS.keys() == set(layers.NAMES)


def band(n: int, before: int, after: int) -> np.ndarray:
    """True where the input stands at most so many positions before or after the output."""
    offset = np.arange(n)[:, None] - np.arange(n)
    return (offset <= before) & (-offset <= after)


@pytest.mark.parametrize(("name", "before", "after"), [
    (layers.SELF_ATTENTION, 8, 8), (layers.CONTIGUOUS, 2, 0), (layers.RESTRICTED, 2, 1), (layers.RECURRENT, 8, 0),
])  # fmt: skip
def test_a_layer_reads_what_it_should(name, before, after):
    """A recurrent layer connects all positions to later ones by itself."""
    influence = next(layer_influences(name, Sizes(9, 2, 3, 4)))
    np.testing.assert_array_equal(influence, band(9, before, after))


def test_a_dilated_layer_reads_farther_the_higher_it_stands():
    lowest, second, third = (
        next_ for next_, _ in zip(layer_influences(layers.DILATED, Sizes(9, 2, 2, 2)), range(3), strict=False)
    )
    for influence, gap in ((lowest, 1), (second, 2), (third, 4)):
        np.testing.assert_array_equal(influence, np.eye(9, dtype=bool) | np.eye(9, k=-gap, dtype=bool))


def test_steps_are_counted_until_the_last_position_is_reached():
    stays, moves = np.eye(4, dtype=bool), band(4, before=1, after=0)
    assert steps_to_connect(iter([band(4, 3, 0)])) == 1
    assert steps_to_connect(iter([moves, moves, moves])) == 3
    assert steps_to_connect(iter([moves, stays, band(4, 2, 0)])) == 3
    with pytest.raises(ValueError, match="the last position is not reached in 4 steps"):
        steps_to_connect(iter([stays] * 5))
    with pytest.raises(ValueError, match="the last position is not reached in 4 steps"):
        steps_to_connect(iter([band(4, before=0, after=3)] * 5))


A, X = jnp.ones((3, 3)), jnp.ones((5, 3))


def loop(step, length: int):
    """`step` again and again, of what it returned before."""
    return lambda x: jax.lax.fori_loop(0, length, lambda _, x: step(x), x)


@pytest.mark.parametrize(("function", "products"), [
    (lambda x: jnp.exp(x).sum(), 0),
    (lambda x: x @ A, 1),
    (lambda x: x @ A @ A @ A, 3),
    (lambda x: x @ A + x @ A + x @ A @ A @ A, 3),
    (lambda x: x @ A + (x @ A).sum() * (x @ A), 1),
    (lambda x: (x @ A) @ (x @ A).T, 2),
    (jax.jit(lambda x: x @ A @ A), 2),
    (jax.remat(lambda x: x @ A @ A), 2),
    (lambda x: jax.nn.relu(x @ A) @ A, 2),
    (loop(lambda x: x @ A @ A, 7), 14),
    (lambda x: jax.lax.scan(lambda carry, row: (carry + 1, row @ A), 0.0, x)[1], 1),
    (lambda x: jax.lax.scan(lambda carry, row: (carry + row @ A @ A, carry), jnp.zeros(3), x)[0], 2),
    (lambda x: jax.lax.scan(lambda carry, row: ((carry + row) @ A, carry), jnp.zeros(3), x)[1], 4),
    (lambda x: jax.lax.cond(x.sum() > 0, lambda x: x @ A @ A, lambda x: x, x), 2),
], ids=range(14))  # fmt: skip
def test_products_that_wait_for_each_other(function, products):
    """In a row, side by side, in functions, in loops that hand something on and in ones that do not."""
    assert sequential_products(function, X) == products


def test_a_loop_of_unknown_length_is_refused():
    with pytest.raises(ValueError, match="while loop"):
        sequential_products(lambda x: jax.lax.while_loop(lambda x: x.sum() < 9, lambda x: x @ A, x), X)


@pytest.mark.parametrize(("name", "products"), [
    (layers.SELF_ATTENTION, 2), (layers.PROJECTED, 4), (layers.CONTIGUOUS, 1), (layers.DILATED, 1),
    (layers.RESTRICTED, 2), (layers.RECURRENT, None),
])  # fmt: skip
def test_only_recurrence_has_a_chain_that_grows(name, products):
    """Scores and weighted sums; before them projections, after them the output's. None: one for each position."""
    for n in (5, 19):
        module, x = layer(name, Sizes(n, 4, 3, 4)), jax.ShapeDtypeStruct((1, n, 4), jnp.float32)
        parameters = jax.eval_shape(module.init, jax.random.key(0), x)
        assert sequential_products(module.apply, parameters, x) == (products or n)
