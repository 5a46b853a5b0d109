"""Padding, in columns or in whole rows, changes nothing."""

import dataclasses
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

from transformer_jax.data.batching import Batch
from transformer_jax.model.transformer import Transformer
from transformer_jax.training.loss import Sums, chunked_cross_entropy, smoothed_target

TIGHT = Batch(np.array([[7, 11, 5, 29, 2], [3, 36, 2, 0, 0]], np.int32), np.array([[13, 4, 2], [31, 8, 2]], np.int32))


def padded(batch: Batch, rows: int, source_columns: int, target_columns: int) -> Batch:
    return Batch(
        np.pad(batch.source, ((0, rows), (0, source_columns))), np.pad(batch.target, ((0, rows), (0, target_columns)))
    )


@partial(jax.jit, static_argnums=0)
def outputs_sums_gradient(model: Transformer, variables: Any, batch: Batch) -> tuple[jax.Array, Sums, Any]:
    def loss(params):
        outputs, table = model.apply({"params": params}, *batch, deterministic=True, method="outputs")
        sums = chunked_cross_entropy(outputs, table, batch.target, smoothed_target("others", 0.1, table.shape[0]))
        return sums.loss, (outputs, sums)

    (_, (outputs, sums)), gradient = jax.value_and_grad(loss, has_aux=True)(variables["params"])
    return outputs, sums, gradient


@pytest.fixture
def forward(small_model, build):
    """A function of a batch: outputs, sums, and the gradient of the loss by the parameters."""
    return partial(outputs_sums_gradient, *build(dataclasses.replace(small_model, num_layers=1)))


def test_padding_changes_neither_outputs_nor_loss_nor_gradient(forward):
    outputs, sums, gradient = forward(TIGHT)
    wide_outputs, wide_sums, wide_gradient = forward(padded(TIGHT, rows=1, source_columns=2, target_columns=4))
    np.testing.assert_allclose(wide_outputs[:2, :3], outputs, atol=1e-6)
    assert wide_sums.tokens == sums.tokens == 6
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), wide_sums, sums)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), wide_gradient, gradient)


def test_a_batch_of_nothing_has_no_loss_and_no_gradient(forward):
    _, sums, gradient = forward(jax.tree.map(np.zeros_like, TIGHT))
    assert jax.tree.map(float, sums) == (0.0, 0.0, 0.0)
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(gradient))


def test_a_target_without_a_source_has_a_finite_loss_and_gradient(forward):
    """Its queries may attend to nothing in the source."""
    outputs, sums, gradient = forward(TIGHT._replace(source=TIGHT.source * np.array([[1], [0]], np.int32)))
    assert sums.tokens == 6
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((outputs, sums, gradient)))
    unchanged, _, _ = forward(TIGHT)
    np.testing.assert_allclose(outputs[0], unchanged[0], atol=1e-6)
