"""What an update needs beside what stays: by XLA's own account, and what the process had."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from transformer_jax import parallel
from transformer_jax.training import step as training_step
from transformer_jax.training.loss import SmoothedTarget, Sums, label_smoothed_cross_entropy


def most_memory() -> float:
    """GiB that this process had resident at most; the kernel counts from its start on (VmHWM)."""
    lines = Path("/proc/self/status").read_text().split("\n")
    return next(int(line.split()[1]) / 2**20 for line in lines if line.startswith("VmHWM"))


def step_bytes(updates: Any, shards: Any) -> dict[str, int]:
    """Of the step of this shape, and of the same step with a loss that holds all logits; state and batch apart."""
    optimizer = optax.adam(1e-3)  # its memory is the state's

    def of(loss: Any) -> int:
        with patch.object(training_step, "chunked_cross_entropy", loss):
            made = training_step.make_train_step(updates.model, optimizer, updates.experiment.training)
            step = parallel.on_all_devices(made, donate_state=True, num_shared=1)
            state = jax.eval_shape(lambda: training_step.initial_state(updates.model, optimizer, 1))
            lowered = step.lower(state, shards, 1)  # type: ignore[attr-defined]
            return lowered.compile().memory_analysis().temp_size_in_bytes

    return {"step_bytes": of(training_step.chunked_cross_entropy), "dense_step_bytes": of(_dense)}


def _dense(outputs: Array, table: Array, targets: Array, smoothed: SmoothedTarget) -> Sums:
    logits = jnp.einsum("btd,vd->btv", outputs, table.astype(outputs.dtype), preferred_element_type=jnp.float32)
    return label_smoothed_cross_entropy(logits, targets, smoothed)
