"""One update is the same however its batch lies on devices and micro-batches."""

import dataclasses
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from transformer_jax import parallel
from transformer_jax.config import SmoothingOver
from transformer_jax.data.batching import Batch
from transformer_jax.model.transformer import Transformer
from transformer_jax.training.loss import PLAIN_TARGET, label_smoothed_cross_entropy, smoothed_target
from transformer_jax.training.step import TrainState, make_evaluation_step, make_train_step

pytestmark = pytest.mark.usefixtures("quick_to_compile")
ARRANGEMENTS = [(1, 8), (2, 4), (8, 1)]  # devices, micro-batches of each


def recorder() -> optax.GradientTransformation:
    """Gradient descent at rate 1 whose state is the newest gradient."""
    return optax.GradientTransformation(
        lambda params: jax.tree.map(jnp.zeros_like, params),
        lambda gradient, _state, _params: (jax.tree.map(jnp.negative, gradient), gradient),
    )


def start(params: Any) -> TrainState:
    return TrainState(jnp.zeros((), jnp.int32), params, recorder().init(params))


def arranged(batch: Batch, devices: int, accumulation: int) -> Batch:
    return jax.tree.map(lambda leaf: leaf.reshape(devices, accumulation, -1, leaf.shape[-1]), batch)


@partial(jax.jit, static_argnums=0, static_argnames="over")
def of_the_whole_batch(
    model: Transformer, params: Any, batch: Batch, *, over: SmoothingOver = "others"
) -> tuple[Any, Any, Any]:
    """Smoothed and plain sums, and the gradient of the mean loss, in one piece and with all the logits."""

    def mean_loss(params):
        logits = model.apply({"params": params}, *batch, deterministic=True)
        targets = smoothed_target(over, 0.1, model.vocab_size), PLAIN_TARGET
        smoothed, plain = (label_smoothed_cross_entropy(logits, batch.target, target) for target in targets)
        return smoothed.loss / smoothed.tokens, (smoothed, plain)

    gradient, (smoothed, plain) = jax.grad(mean_loss, has_aux=True)(params)
    return smoothed, plain, gradient


def assert_trees_close(ours: Any, theirs: Any) -> None:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6, rtol=1e-5), ours, theirs)


def assert_is_the_update(state: TrainState, metrics: Any, model: Transformer, params: Any, batch: Batch) -> None:
    sums, _, gradient = of_the_whole_batch(model, params, batch)
    assert state.step == 1
    assert_trees_close(metrics.sums, sums)
    assert metrics.sums.tokens == 42
    assert_trees_close(state.opt_state, gradient)
    assert_trees_close(state.params, jax.tree.map(jnp.subtract, params, gradient))
    np.testing.assert_allclose(metrics.gradient_norm, optax.tree.norm(gradient), rtol=1e-5)


@pytest.mark.parametrize(("devices", "accumulation"), ARRANGEMENTS)
def test_any_arrangement_is_the_update_of_the_whole_batch(devices, accumulation, one_layer, params, ragged, training):
    step = make_train_step(one_layer, recorder(), training)
    on_axis = jax.jit(jax.vmap(step, axis_name=parallel.AXIS, in_axes=(None, 0, None)))
    states, metrics = on_axis(start(params), arranged(ragged, devices, accumulation), training.seed)
    for leaf in jax.tree.leaves((states, metrics)):
        assert leaf.shape[0] == devices
        assert (leaf == leaf[:1]).all(), "all devices agree, bit for bit"
    first_state, first_metrics = jax.tree.map(lambda leaf: leaf[0], (states, metrics))
    assert_is_the_update(first_state, first_metrics, one_layer, params, ragged)


@pytest.mark.parametrize(("devices", "accumulation"), ARRANGEMENTS)
def test_so_it_is_on_real_devices(devices, accumulation, one_layer, params, ragged, training):
    assert parallel.num_devices() == 8
    step = make_train_step(one_layer, recorder(), training)
    on_devices = parallel.on_all_devices(step, donate_state=False, num_shared=1)
    state, metrics = on_devices(start(params), arranged(ragged, devices, accumulation), training.seed)
    assert jax.tree.map(jnp.shape, state.params) == jax.tree.map(jnp.shape, params), "plain, without a device axis"
    assert_is_the_update(state, metrics, one_layer, params, ragged)


def test_the_config_says_over_what_labels_are_smoothed(one_layer, params, ragged, training):
    step = make_train_step(one_layer, recorder(), dataclasses.replace(training, label_smoothing_over="all_but_pad"))
    on_axis = jax.jit(jax.vmap(step, axis_name=parallel.AXIS, in_axes=(None, 0, None)))
    states, metrics = on_axis(start(params), arranged(ragged, 1, 8), training.seed)
    sums, _, gradient = of_the_whole_batch(one_layer, params, ragged, over="all_but_pad")
    assert_trees_close(metrics.sums.loss[0], sums.loss)
    assert_trees_close(jax.tree.map(lambda leaf: leaf[0], states.opt_state), gradient)
    usual, _, _ = of_the_whole_batch(one_layer, params, ragged)
    assert abs(sums.loss - usual.loss) > 1e-4 * sums.loss, "or it could not be told apart"


def test_means_of_means_would_be_something_else(one_layer, params, ragged):
    """Or the arrangements above could not tell them apart: token counts must differ between shards."""
    _, _, whole = of_the_whole_batch(one_layer, params, ragged)
    first = np.arange(16)[:, None] < 8
    halves = [jax.tree.map(lambda leaf, rows=rows: leaf * rows, ragged) for rows in (first, ~first)]
    gradients = [of_the_whole_batch(one_layer, params, half)[2] for half in halves]
    mean = jax.tree.map(lambda a, b: (a + b) / 2, *gradients)
    assert optax.tree.norm(jax.tree.map(jnp.subtract, mean, whole)) > 0.05 * optax.tree.norm(whole)


def test_evaluation_sums_the_plain_loss_over_all_devices(one_layer, params, ragged):
    step = jax.jit(jax.vmap(make_evaluation_step(one_layer), axis_name=parallel.AXIS, in_axes=(None, 0)))
    sums = step(params, arranged(ragged, 2, 4))
    _, plain, _ = of_the_whole_batch(one_layer, params, ragged)
    for device in range(2):
        assert_trees_close(jax.tree.map(lambda leaf, device=device: leaf[device], sums), plain)
    np.testing.assert_allclose(sums.loss, sums.negative_log_likelihood, rtol=1e-6)
