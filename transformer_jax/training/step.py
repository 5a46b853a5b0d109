"""One update of the parameters, written for one device; and the loss of a batch without one."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from transformer_jax import config, parallel
from transformer_jax.data.batching import Batch
from transformer_jax.model.transformer import Params, Transformer
from transformer_jax.training.loss import PLAIN_TARGET, SmoothedTarget, Sums, chunked_cross_entropy, smoothed_target

# An argument and no constant of what is compiled: a program serves all seeds, also from a cache on disk.
Seed = int | Int[Array, ""]


class TrainState(NamedTuple):
    """All that an update changes. No key and no iterator: randomness and batches are functions of the step."""

    step: Int[Array, ""]  # updates made
    params: Params
    opt_state: optax.OptState


class StepMetrics(NamedTuple):
    """Of one update, over all devices."""

    sums: Sums
    gradient_norm: Float[Array, ""]  # of the mean loss per token, before any clipping


def initial_params(model: Transformer, *, seed: Seed) -> Params:
    """Parameters before the first update. One token a side is enough: no shape depends on a batch's."""
    ids = jnp.ones((1, 1), jnp.int32)
    return model.init(jax.random.key(seed), ids, ids, deterministic=True)["params"]


def initial_state(model: Transformer, optimizer: optax.GradientTransformation, seed: int) -> TrainState:
    """The state before the first update.

    An operation at a time: XLA would take longer to compile all of them than they take.
    """
    params = initial_params(model, seed=seed)
    return TrainState(jnp.zeros((), jnp.int32), params, optimizer.init(params))


def batch_sums(
    model: Transformer, params: Params, batch: Batch, *, smoothed: SmoothedTarget, dropout_key: Array | None
) -> Sums:
    """The loss of a batch [B, S], [B, T], with dropout where there is a key."""
    target = jnp.asarray(batch.target)
    outputs, table = model.apply(
        {"params": params},
        jnp.asarray(batch.source),
        target,
        deterministic=dropout_key is None,
        rngs=None if dropout_key is None else {"dropout": dropout_key},
        method="outputs",
    )
    return chunked_cross_entropy(outputs, jnp.asarray(table), target, smoothed)


def gradient_sums(
    model: Transformer, params: Params, batches: Batch, *, smoothed: SmoothedTarget, key: Array
) -> tuple[Sums, Params]:
    """Sums and their gradients over micro-batches [accumulation, B, L], one at a time: memory is that of one."""

    def loss(params: Params, batch: Batch, key: Array) -> tuple[Array, Sums]:
        sums = batch_sums(model, params, batch, smoothed=smoothed, dropout_key=key)
        return sums.loss, sums

    def add(total: tuple[Sums, Params], inputs: tuple[Array, Batch]) -> tuple[tuple[Sums, Params], None]:
        index, batch = inputs
        (_, sums), gradients = jax.value_and_grad(loss, has_aux=True)(params, batch, jax.random.fold_in(key, index))
        return jax.tree.map(jnp.add, total, (sums, gradients)), None

    accumulation = batches.target.shape[0]
    nothing = Sums(*jnp.zeros((3,), jnp.float32)), jax.tree.map(jnp.zeros_like, params)
    return jax.lax.scan(add, nothing, (jnp.arange(accumulation), batches))[0]


def make_train_step(
    model: Transformer, optimizer: optax.GradientTransformation, training: config.Training
) -> Callable[[TrainState, Batch, Seed], tuple[TrainState, StepMetrics]]:
    """`step(state, batch [accumulation, B, L], seed)` for one of the devices of `parallel.on_all_devices`.

    Sums over tokens, all-reduces loss, tokens and gradients together, divides once. Dropout's key is folded from
    (seed, step, device, micro-batch).
    """
    smoothed = smoothed_target(training.label_smoothing_over, training.label_smoothing, model.vocab_size)

    def step(state: TrainState, batches: Batch, seed: Seed) -> tuple[TrainState, StepMetrics]:
        key = jax.random.fold_in(jax.random.key(seed, impl=training.random_bits), state.step)
        key = jax.random.fold_in(key, parallel.device_index())
        own = gradient_sums(model, state.params, batches, smoothed=smoothed, key=key)
        sums, gradients = parallel.all_reduce(own)
        gradients = jax.tree.map(lambda gradient: gradient / sums.tokens, gradients)
        updates, opt_state = optimizer.update(gradients, state.opt_state, state.params)
        params = optax.apply_updates(state.params, updates)
        metrics = StepMetrics(sums, optax.tree.norm(gradients))
        return TrainState(state.step + 1, params, opt_state), metrics

    return step


def make_evaluation_step(model: Transformer) -> Callable[[Params, Batch], Sums]:
    """`step(params, batch [accumulation, B, L])`: sums without dropout or smoothing, for one of the devices."""

    def step(params: Params, batches: Batch) -> Sums:
        def one(batch: Batch) -> Sums:
            return batch_sums(model, params, batch, smoothed=PLAIN_TARGET, dropout_key=None)

        return parallel.all_reduce(jax.tree.map(lambda part: part.sum(0), jax.lax.map(one, batches)))

    return step
