"""Floating-point operations of updates by XLA's cost analysis of the very program that makes them.

XLA counts what a loop repeats once, and an update has two loops: over micro-batches, and over chunks of the loss. The
program of one micro-batch has each once. It is counted with some rows and with twice as many: the difference is theirs.
The loss of a token is counted apart, without the loop, in the same way. What is left is an update's own, of which most
is the optimizer's.
"""

import dataclasses
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array

from transformer_jax import parallel
from transformer_jax.config import Experiment
from transformer_jax.data.batching import Batch
from transformer_jax.model.transformer import Transformer
from transformer_jax.training.loss import (
    SmoothedTarget,
    Sums,
    chunked_cross_entropy,
    label_smoothed_cross_entropy,
    smoothed_target,
)
from transformer_jax.training.optimizer import make_optimizer
from transformer_jax.training.step import initial_state, make_train_step

_ROWS, _TOKENS = 4, 64


class Shares(NamedTuple):
    """An update's operations: `update` + `pair` for each pair + `token` for each target token."""

    update: float
    pair: float  # padding included
    token: float  # of the logits and the loss, which padding has not


def compiled_shares(experiment: Experiment, *, source: int, target: int) -> Shares:
    """Of pairs that are padded to these lengths.

    Counted is the program as the compiler gets it, without what `Model.rematerialise` has computed again.
    """
    model = dataclasses.replace(experiment.model, rematerialise="nothing")
    training = dataclasses.replace(experiment.training, seed=0)  # runs that differ in it alone have one program
    return _shares(dataclasses.replace(experiment, model=model, training=training), source, target)


@cache
def _shares(experiment: Experiment, source: int, target: int) -> Shares:
    step, more = _step_flops(experiment, [_ROWS, 2 * _ROWS], source, target)
    pair = (more - step) / _ROWS
    few, many = (_loss_flops(experiment, _whole, tokens) for tokens in (_TOKENS, 2 * _TOKENS))
    chunk = _loss_flops(experiment, chunked_cross_entropy, 1)  # filled up: any number of tokens costs as much
    return Shares(step - _ROWS * pair - chunk, pair, (many - few) / _TOKENS)


def _step_flops(experiment: Experiment, rows: Sequence[int], source: int, target: int) -> list[float]:
    """Of one device, with one micro-batch of so many rows."""
    model, optimizer = Transformer(experiment.model, experiment.data.vocab_size), make_optimizer(experiment)
    made = make_train_step(model, optimizer, experiment.training)
    step: Any = parallel.on_all_devices(made, donate_state=True, num_shared=1)
    state = jax.eval_shape(lambda: initial_state(model, optimizer, 0))
    shapes = [(parallel.num_devices(), 1, count) for count in rows]
    shards = [Batch(_ids(*shape, source), _ids(*shape, target)) for shape in shapes]
    return [step.lower(state, each, 0).cost_analysis()["flops"] for each in shards]


def _loss_flops(experiment: Experiment, loss: Callable[..., Sums], tokens: int) -> float:
    """Of the loss of so many target tokens in a row, and of its gradient."""
    size, training, d_model = experiment.data.vocab_size, experiment.training, experiment.model.d_model
    smoothed = smoothed_target(training.label_smoothing_over, training.label_smoothing, size)

    def summed(outputs: Array, table: Array, targets: Array) -> Array:
        return loss(outputs, table, targets, smoothed).loss

    outputs = jax.ShapeDtypeStruct((1, tokens, d_model), experiment.model.compute_dtype)
    table = jax.ShapeDtypeStruct((size, d_model), jnp.float32)
    gradient: Any = jax.jit(jax.value_and_grad(summed, argnums=(0, 1)))
    return gradient.lower(outputs, table, _ids(1, tokens)).cost_analysis()["flops"]


def _whole(outputs: Array, table: Array, targets: Array, smoothed: SmoothedTarget) -> Sums:
    """The loss in one piece."""
    logits = jnp.einsum("btd,vd->btv", outputs, table.astype(outputs.dtype), preferred_element_type=jnp.float32)
    return label_smoothed_cross_entropy(logits, targets, smoothed)


def _ids(*shape: int) -> Any:
    return jax.ShapeDtypeStruct(shape, jnp.int32)
