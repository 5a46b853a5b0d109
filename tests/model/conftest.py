"""What the model's tests share: the variants of the model, and parameters for them, drawn once."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from compilation import quick_to_compile
from random_params import random_params

from transformer_jax import config
from transformer_jax.model.transformer import Transformer

__all__ = ["build", "compile_quickly", "quick_to_compile", "variant"]
VOCAB_SIZE = 37
Build = Callable[[config.Model], tuple[Transformer, Any]]

# Every switch of the architecture both ways, and with others.
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "pre_norm": {"pre_norm": True},
    "learned_and_biases": {"positions": "learned", "attention_biases": True},
    "unshared_and_sines_then_cosines": {"shared_embedding": False, "positions": "sines_then_cosines"},
    "restricted": {"encoder_neighbourhood": 2, "decoder_neighbourhood": 3},
    "all_at_once": {
        "pre_norm": True,
        "attention_biases": True,
        "positions": "sines_then_cosines",
        "shared_embedding": False,
        "layer_norm_epsilon": 0.1,
        "decoder_neighbourhood": 2,
    },
}


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS.keys())
def variant(request: pytest.FixtureRequest, small_model: config.Model) -> config.Model:
    return dataclasses.replace(small_model, **request.param)


@pytest.fixture(scope="session")
def build() -> Build:
    """A model and random parameters for it."""
    built: dict[config.Model, tuple[Transformer, Any]] = {}

    def get(model: config.Model) -> tuple[Transformer, Any]:
        if model not in built:
            built[model] = Transformer(model, VOCAB_SIZE), {"params": random_params(model, VOCAB_SIZE)}
        return built[model]

    return get


@pytest.fixture(autouse=True)
def compile_quickly(quick_to_compile: None) -> None:
    """In every test of this folder."""
