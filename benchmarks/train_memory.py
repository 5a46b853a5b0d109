"""What an update needs beside what stays: by XLA's own account, and what the process had."""

import dataclasses
import typing
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import jax
import jax.numpy as jnp
from jaxtyping import Array

from transformer_jax import parallel
from transformer_jax.config import Experiment, Rematerialise
from transformer_jax.data.batching import Batch
from transformer_jax.model.transformer import Transformer
from transformer_jax.training import step as training_step
from transformer_jax.training.loss import SmoothedTarget, Sums, label_smoothed_cross_entropy
from transformer_jax.training.optimizer import make_optimizer

PAPER_VOCABULARY, MEMORY_ROWS, MEMORY_LENGTH = 37_000, 128, 32


def most_memory() -> float:
    """GiB that this process had resident at most; the kernel counts from its start on (VmHWM)."""
    lines = Path("/proc/self/status").read_text().split("\n")
    return next(int(line.split()[1]) / 2**20 for line in lines if line.startswith("VmHWM"))


class StepBytes(NamedTuple):
    """Of one shape of batch, by XLA's account."""

    state: int  # parameters and Adam's moments, which stay
    chunked: int  # what the step needs beside
    dense: int  # what the same step needs with a loss that holds all logits


def step_bytes(experiment: Experiment, vocab_size: int, shards: Any) -> StepBytes:
    model, optimizer = Transformer(experiment.model, vocab_size), make_optimizer(experiment)
    state = jax.eval_shape(lambda: training_step.initial_state(model, optimizer, 1))

    def needed(loss: Any) -> int:
        with patch.object(training_step, "chunked_cross_entropy", loss):
            made = training_step.make_train_step(model, optimizer, experiment.training)
            step = parallel.on_all_devices(made, donate_state=True, num_shared=1)
            lowered = step.lower(state, shards, 1)  # type: ignore[attr-defined]
            return lowered.compile().memory_analysis().temp_size_in_bytes

    stays = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state))
    return StepBytes(stays, needed(training_step.chunked_cross_entropy), needed(_dense))


def bytes_by_rematerialise(experiment: Experiment) -> dict[str, StepBytes]:
    """Of 4,096 target tokens a device, with the paper's vocabulary, for each choice of `Model.rematerialise`."""
    ids: Any = jax.ShapeDtypeStruct((parallel.num_devices(), 1, MEMORY_ROWS, MEMORY_LENGTH), jnp.int32)
    found = {}
    for choice in typing.get_args(Rematerialise):
        model = dataclasses.replace(experiment.model, rematerialise=choice)
        found[choice] = step_bytes(dataclasses.replace(experiment, model=model), PAPER_VOCABULARY, Batch(ids, ids))
    return found


def _dense(outputs: Array, table: Array, targets: Array, smoothed: SmoothedTarget) -> Sums:
    logits = jnp.einsum("btd,vd->btv", outputs, table.astype(outputs.dtype), preferred_element_type=jnp.float32)
    return label_smoothed_cross_entropy(logits, targets, smoothed)
