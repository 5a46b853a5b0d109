"""What the tests of an update share: a model of one layer, its settings, and a ragged batch."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compilation import compiled_once, quick_to_compile
from random_params import random_params

from experiments.gin_bindings import load_experiment
from transformer_jax import config
from transformer_jax.data.batching import Batch
from transformer_jax.model.transformer import Transformer

__all__ = ["compiled_once", "one_layer", "params", "quick_to_compile", "ragged", "training"]
BASE_GIN = Path(__file__).resolve().parents[2] / "gin_configs" / "base.gin"
VOCAB_SIZE = 37


@pytest.fixture
def training() -> config.Training:
    return load_experiment([BASE_GIN]).training


@pytest.fixture
def one_layer(small_model: config.Model) -> Transformer:
    return Transformer(dataclasses.replace(small_model, num_layers=1, dropout_rate=0.0), VOCAB_SIZE)


@pytest.fixture
def params(one_layer: Transformer) -> Any:
    return random_params(one_layer.config, VOCAB_SIZE)


@pytest.fixture
def ragged() -> Batch:
    """Sixteen rows [16, 11], [16, 7]: from no token to the full width, the first two and some others empty."""
    generator = np.random.default_rng(7)

    def side(lengths: list[int], width: int) -> np.ndarray:
        ids = generator.integers(3, VOCAB_SIZE, (len(lengths), width))
        return np.where(np.arange(width) < np.array(lengths)[:, None], ids, 0).astype(np.int32)

    return Batch(
        side([0, 0, 11, 1, 3, 0, 8, 2, 11, 11, 1, 0, 5, 9, 2, 4], 11),
        side([0, 0, 1, 7, 5, 0, 1, 2, 7, 7, 1, 0, 6, 3, 1, 1], 7),
    )
