"""The weights that a run is judged by: the mean of its newest checkpoints (section 6.1)."""

from pathlib import Path
from typing import Any, NamedTuple

import jax

from experiments.workdir import WorkdirError
from transformer_jax import config
from transformer_jax.model.transformer import Transformer
from transformer_jax.training.checkpoint import CheckpointError, Checkpoints, read_average, save_average
from transformer_jax.training.step import initial_params


class Weights(NamedTuple):
    """Parameters in float32, and the steps of the checkpoints that they are the mean of."""

    params: Any
    steps: list[int]


def param_shapes(experiment: config.Experiment) -> Any:
    """The tree of the model's parameters, with shapes and types and without values."""
    model = Transformer(experiment.model, experiment.data.vocab_size)
    return jax.eval_shape(lambda: initial_params(model, seed=0))


def read_weights(workdir: Path, experiment: config.Experiment) -> Weights:
    """The mean of the newest `Decoding.average_checkpoints`, made once and kept in the workdir's `averaged` folder.

    Raises:
      WorkdirError: nothing is trained there yet.
      CheckpointError: a checkpoint is damaged.
    """
    # A run that was stopped before its first checkpoint has the state of that moment.
    folders = [workdir / name for name in ("checkpoints", "interrupted")]
    directory = next((folder for folder in folders if folder.is_dir() and any(folder.iterdir())), None)
    if directory is None:
        raise WorkdirError(f"{workdir} holds no checkpoint yet: train there first")
    like = param_shapes(experiment)
    checkpoints = Checkpoints(directory, keep=experiment.training.keep_checkpoints)
    steps = checkpoints.steps[-experiment.decoding.average_checkpoints :]
    kept = workdir / "averaged" / "_".join(map(str, steps))
    if kept.is_dir():
        try:
            return Weights(read_average(kept, like), steps)
        except CheckpointError as error:
            raise CheckpointError(f"{error}; delete it: it is made anew from the checkpoints") from error
    params, steps = checkpoints.average(experiment.decoding.average_checkpoints, like)
    if len(steps) > 1:
        save_average(kept, params, steps)
    return Weights(params, steps)
