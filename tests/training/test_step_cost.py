"""What an update costs beside its arithmetic: memory, and compilations."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from transformer_jax import parallel
from transformer_jax.data.batching import Batch
from transformer_jax.training.loss import smoothed_target
from transformer_jax.training.step import TrainState, gradient_sums, make_train_step


def temporary_bytes(model, params, *, accumulation: int, rows: int) -> int:
    """What a device needs for the gradient of `accumulation` micro-batches, beside arguments and results."""
    shape = jax.ShapeDtypeStruct((accumulation, rows, 29), jnp.int32)

    def gradient(params, batches, key):
        return gradient_sums(model, params, batches, smoothed=smoothed_target("others", 0.1, model.vocab_size), key=key)

    compiled = jax.jit(gradient).lower(params, Batch(shape, shape), jax.random.key(0)).compile()
    return compiled.memory_analysis().temp_size_in_bytes


def test_micro_batches_need_the_memory_of_one(one_layer, params):
    """And not that of the batch they make up, which is eight times as large."""
    one_at_a_time = temporary_bytes(one_layer, params, accumulation=8, rows=13)
    in_one_pass = temporary_bytes(one_layer, params, accumulation=1, rows=8 * 13)
    assert one_at_a_time < in_one_pass / 6


@pytest.mark.usefixtures("quick_to_compile")
def test_only_the_first_step_of_a_shape_compiles_whatever_the_seed(one_layer, params, ragged, training, caplog):
    traces = []
    optimizer = optax.adam(1e-3)
    step = make_train_step(one_layer, optimizer, training)

    def counted(state, batch, seed):
        traces.append(batch.source.shape)
        return step(state, batch, seed)

    compiled = parallel.on_all_devices(counted, donate_state=True, num_shared=1)
    state = parallel.replicate(TrainState(jnp.zeros((), jnp.int32), params, optimizer.init(params)))
    batch = parallel.shard(ragged, devices=8, tokens_per_device=1000)
    compilations = []
    for seed in range(3):
        caplog.clear()
        with jax.log_compiles(), caplog.at_level(logging.WARNING):
            state, _ = jax.block_until_ready(compiled(state, batch, seed))
        compilations.append(sum("Compiling" in record.getMessage() for record in caplog.records))
    assert compilations[0] > 0, "else nothing is counted"
    assert compilations[1:] == [0, 0]
    assert traces == [(1, 2, 11)]
    assert int(state.step) == 3
    assert not any(np.isnan(leaf).any() for leaf in jax.tree.leaves(state.params))
