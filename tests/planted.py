"""Training text with words that make a loss that is not finite: their embeddings are too large."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
from tiny_experiment import VOCAB_SIZE, tiny_experiment

from transformer_jax.data.batching import BatchPlan
from transformer_jax.data.encoded import EncodedCorpus
from transformer_jax.model.transformer import Transformer
from transformer_jax.training.checkpoint import Checkpoints
from transformer_jax.training.optimizer import make_optimizer
from transformer_jax.training.step import TrainState, initial_state

SEPARATE: dict[str, Any] = {"shared_embedding": False}  # what a source's word has is then in no logit


def planted_state(word: int) -> TrainState:
    """The initial state of `tiny_experiment`, but for the source embedding of `word`, which is finite still."""
    experiment = tiny_experiment(**SEPARATE)
    model = Transformer(experiment.model, VOCAB_SIZE)
    state = initial_state(model, make_optimizer(experiment), experiment.training.seed)
    tables = state.params["source_embedding"]
    params = state.params | {"source_embedding": tables | {"table": tables["table"].at[word].set(jnp.float32(3e38))}}
    return state._replace(params=params)


def plant(workdir: Path, word: int) -> None:
    """A run of no updates begun in `workdir`."""
    Checkpoints(workdir / "checkpoints", keep=3).save(planted_state(word))


def batches_with(word: int, plan: BatchPlan, split: EncodedCorpus, numbers: Iterable[int]) -> list[int]:
    return [number for number in numbers if (plan.batch(split, number).source == word).any()]
