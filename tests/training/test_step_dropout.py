"""The step's randomness is a function of seed, step, device and micro-batch."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from transformer_jax import parallel
from transformer_jax.data.batching import Batch
from transformer_jax.model.transformer import Transformer
from transformer_jax.training.step import TrainState, make_train_step

pytestmark = pytest.mark.usefixtures("quick_to_compile")
PAIR = np.array([[7, 11, 5, 29, 2]], np.int32), np.array([[13, 4, 2]], np.int32)


@pytest.fixture(params=["threefry2x32", "rbg"])
def loss(request, one_layer, params, training):
    """The loss of an update at a step, of one pair that every device has in each of its micro-batches."""
    return partial(loss_of_pair, dropping(one_layer), params, dataclasses.replace(training, random_bits=request.param))


def dropping(model: Transformer) -> Transformer:
    return Transformer(dataclasses.replace(model.config, dropout_rate=0.3), model.vocab_size)


@partial(jax.jit, static_argnums=(0, 2), static_argnames=("devices", "accumulation"))
def run(model, params, training, step, batch, seed, *, devices, accumulation):
    optimizer = optax.sgd(1.0)
    one_device = make_train_step(model, optimizer, training)
    update = jax.vmap(one_device, axis_name=parallel.AXIS, in_axes=(None, 0, None))
    copies = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (devices, accumulation, *leaf.shape)), batch)
    _, metrics = update(TrainState(step, params, optimizer.init(params)), copies, seed)
    return metrics.sums.loss[0]


def loss_of_pair(model, params, training, *, step=0, seed=1, devices=1, accumulation=1) -> float:
    at = jnp.asarray(step, jnp.int32)
    return float(run(model, params, training, at, Batch(*PAIR), seed, devices=devices, accumulation=accumulation))


def test_an_update_repeats_itself_and_no_other(loss):
    assert loss(step=4) == loss(step=4)
    assert len({loss(step=step) for step in range(5)}) == 5
    assert loss(seed=1) != loss(seed=2)


def test_every_device_and_every_micro_batch_drops_something_else(loss):
    """Else two of them would have twice the loss of one."""
    one = loss()
    for two in (loss(devices=2), loss(accumulation=2)):
        assert abs(two - 2 * one) > 1e-3
    assert loss(devices=2) != loss(accumulation=2)
