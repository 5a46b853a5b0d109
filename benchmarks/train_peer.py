"""What a peer is given: the settings, our first weights and our batches, in files that need nothing of ours to read."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from transformer_jax.config import Experiment
from transformer_jax.data.batching import Batch
from transformer_jax.training.optimizer import learning_rate_schedule

_OF_MODEL = (
    *("num_layers", "d_model", "d_ff", "num_heads", "dropout_rate", "max_length", "attention_biases"),
    *("layer_norm_epsilon", "compute_dtype"),
)


def cores() -> int:
    """That a side may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def write_for_peers(folder: Path, experiment: Experiment, params: Any, batches: Sequence[Batch]) -> None:
    """settings.json, params.npz (by Flax's names) and batches.npz (source_0, target_0, source_1, ...)."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {name: getattr(experiment.model, name) for name in _OF_MODEL} | {
        "vocab_size": experiment.data.vocab_size,
        "label_smoothing": experiment.training.label_smoothing,
        "learning_rate": float(learning_rate_schedule(experiment)(0)),
        "threads": cores(),
    }
    (folder / "settings.json").write_text(json.dumps(settings, indent=1))
    leaves = jax.tree_util.tree_leaves_with_path(params)
    arrays: dict[str, Any] = {jax.tree_util.keystr(path, simple=True, separator="/"): leaf for path, leaf in leaves}
    np.savez(folder / "params.npz", **arrays)
    arrays = {f"{side}_{i}": ids for i, batch in enumerate(batches) for side, ids in batch._asdict().items()}
    np.savez(folder / "batches.npz", **arrays)
