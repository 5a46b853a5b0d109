"""XLA's count of an update, put together from programs without loops, against its count of one that has none."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from tiny_experiment import tiny_experiment

from experiments.costs.compiled import compiled_shares
from transformer_jax import parallel
from transformer_jax.analysis.cost import training_flops
from transformer_jax.data.batching import Batch
from transformer_jax.model.transformer import Transformer
from transformer_jax.training.optimizer import make_optimizer
from transformer_jax.training.step import initial_state, make_train_step

# Wide enough that most of it is products; 16 targets of 32 fill one chunk of the loss.
ROWS, SOURCE, TARGET = 16, 29, 32
EXPERIMENT = tiny_experiment(
    num_layers=2, d_model=64, d_ff=251, num_heads=4, d_k=13, d_v=17, max_length=37, vocab_size=1009
)


@pytest.fixture(scope="module")
def shares():
    return compiled_shares(EXPERIMENT, source=SOURCE, target=TARGET)


def ids(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def test_parts_make_up_the_update_whose_loops_run_once(shares):
    """But for what the loop computes otherwise than the loss in one piece."""
    model, optimizer = Transformer(EXPERIMENT.model, 1009), make_optimizer(EXPERIMENT)
    made = make_train_step(model, optimizer, EXPERIMENT.training)
    step: Any = parallel.on_all_devices(made, donate_state=True, num_shared=1)
    state = jax.eval_shape(lambda: initial_state(model, optimizer, 1))
    shape = parallel.num_devices(), 1, ROWS
    whole = step.lower(state, Batch(ids(*shape, SOURCE), ids(*shape, TARGET)), 1).cost_analysis()["flops"]
    assert shares.update + ROWS * shares.pair + ROWS * TARGET * shares.token == pytest.approx(whole, rel=5e-3)


def test_it_is_the_formula_and_little_more(shares):
    formula = training_flops(EXPERIMENT.model, 1009, source=SOURCE, target=TARGET)
    assert 1.0 < (shares.pair + TARGET * shares.token) / formula < 1.05
    assert 1.0 < shares.token / (6 * 64 * 1009) < 1.03


def test_an_update_s_own_is_adam_s(shares):
    """Some operations for each parameter."""
    model = Transformer(EXPERIMENT.model, 1009)
    state = jax.eval_shape(lambda: initial_state(model, make_optimizer(EXPERIMENT), 1))
    parameters = sum(leaf.size for leaf in jax.tree.leaves(state.params))
    assert 10 < shares.update / parameters < 30


def test_neither_the_seed_nor_rematerialisation_changes_it(shares):
    """And nothing is traced again."""
    model = dataclasses.replace(EXPERIMENT.model, rematerialise="layers")
    training = dataclasses.replace(EXPERIMENT.training, seed=17)
    other = dataclasses.replace(EXPERIMENT, model=model, training=training)
    assert compiled_shares(other, source=SOURCE, target=TARGET) is shares
