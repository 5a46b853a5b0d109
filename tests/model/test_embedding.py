"""Token embeddings, and positions by hand and against the NumPy model."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import numpy_oracle as oracle
import pytest

from transformer_jax.model.embedding import Embedding, Positions, sines_then_cosines_positions, sinusoidal_positions
from transformer_jax.model.transformer import Transformer


def test_an_embedding_is_a_row_of_the_table_times_the_root_of_its_width():
    table = jnp.arange(15.0).reshape(5, 3)
    embedded = Embedding(5, 3).apply({"params": {"table": table}}, jnp.array([[4, 0]]))
    np.testing.assert_allclose(embedded, [[table[4] * math.sqrt(3), table[0] * math.sqrt(3)]], rtol=1e-6)


def test_sinusoids_by_hand():
    table = sinusoidal_positions(3, 4)
    np.testing.assert_array_equal(table[0], [0.0, 1.0, 0.0, 1.0])
    np.testing.assert_allclose(table[1], [0.8414710, 0.5403023, 0.0099998, 0.9999500], atol=1e-7)
    np.testing.assert_allclose(table[2], [0.9092974, -0.4161468, 0.0199987, 0.9998000], atol=1e-7)


def test_sines_then_cosines_by_hand():
    table = sines_then_cosines_positions(2, 4)
    np.testing.assert_array_equal(table[0], [0.0, 0.0, 1.0, 1.0])
    np.testing.assert_allclose(table[1], [0.8414710, 1e-4, 0.5403023, 1.0], atol=1e-7)


@pytest.mark.parametrize(
    ("make", "expected"),
    [(sinusoidal_positions, oracle.sinusoids), (sines_then_cosines_positions, oracle.sines_then_cosines)],
)
def test_both_kinds_agree_with_numpy(make, expected):
    np.testing.assert_allclose(make(61, 14), expected(61, 14), atol=1e-6)


@pytest.mark.parametrize(("make", "longest"), [(sinusoidal_positions, 9646.6), (sines_then_cosines_positions, 10000.0)])
def test_the_longest_wavelength_at_the_paper_s_width(make, longest):
    """A sine of a small angle is the angle: a position is 1 / 9,647 of a radian as printed, 1 / 10,000 in the code."""
    sine = make(2, 512)[1, 510 if make is sinusoidal_positions else 255]
    assert 1 / sine == pytest.approx(longest, rel=1e-4)


@pytest.mark.parametrize("make", [sinusoidal_positions, sines_then_cosines_positions])
def test_how_alike_two_positions_are_depends_on_their_distance_alone(make):
    """Why the paper chose sinusoids: PE(p + k) is a rotation of PE(p) that depends on k alone."""
    products = make(31, 14).astype(np.float64) @ make(31, 14).T
    for distance in range(7):
        np.testing.assert_allclose(np.diag(products, distance), products[0, distance], atol=1e-5)
    assert products[0, 1] < products[0, 0] - 0.1


def test_sinusoids_at_the_least_width():
    for make in (sinusoidal_positions, sines_then_cosines_positions):
        np.testing.assert_allclose(make(2, 2), [[0, 1], [math.sin(1), math.cos(1)]], atol=1e-7)


@pytest.mark.parametrize("kind", ["sinusoidal", "sines_then_cosines", "learned"])
def test_one_position_is_a_row_of_the_first(kind):
    positions = Positions(kind, max_length=7, d_model=4)
    variables = positions.init(jax.random.key(0), 7, method="first")
    table = positions.apply(variables, 5, method="first")
    assert table.shape == (5, 4)
    for position in range(5):
        row = positions.apply(variables, jnp.array(position), method="at")
        np.testing.assert_array_equal(row, table[position])


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_learned_positions_are_parameters_and_sinusoids_are_not(kind):
    positions = Positions(kind, max_length=7, d_model=4)
    shapes = jax.tree.map(jnp.shape, positions.init(jax.random.key(0), 7, method="first"))
    assert shapes == ({"params": {"table": (7, 4)}} if kind == "learned" else {})


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_a_sequence_may_be_as_long_as_max_length_and_no_longer(kind, small_model):
    limited = dataclasses.replace(small_model, positions=kind, max_length=11, num_layers=1)
    model = Transformer(limited, 37)

    def logits(source_length: int, target_length: int) -> tuple[int, ...]:
        source, target = jnp.ones((1, source_length), jnp.int32), jnp.ones((1, target_length), jnp.int32)
        return jax.eval_shape(
            lambda: model.init_with_output(jax.random.key(0), source, target, deterministic=True)[0]
        ).shape

    assert logits(11, 11) == (1, 11, 37)
    for lengths in ((12, 3), (3, 12)):
        with pytest.raises(ValueError, match=r"12 tokens is longer than Model.max_length = 11"):
            logits(*lengths)
