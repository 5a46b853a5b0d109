"""What it takes of a run to read sentences with its model."""

from pathlib import Path
from typing import NamedTuple

from experiments.weights import Weights, read_weights
from experiments.workdir import read_vocabulary
from transformer_jax.config import Experiment
from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.errors import UserError
from transformer_jax.model.transformer import Transformer


class AttentionError(UserError):
    """Attention that cannot be shown as asked: the message says why."""


class Run(NamedTuple):
    """A model with its weights and vocabulary."""

    workdir: Path
    experiment: Experiment
    vocabulary: Vocabulary
    model: Transformer
    weights: Weights


def read_run(workdir: Path, experiment: Experiment) -> Run:
    """Raises UserError where nothing is trained yet, or a file is damaged."""
    vocabulary = read_vocabulary(workdir)
    model = Transformer(experiment.model, vocabulary.size)
    return Run(workdir, experiment, vocabulary, model, read_weights(workdir, experiment))
