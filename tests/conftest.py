"""Shapes in signatures are checked while the tests run, and there are eight CPU devices."""

import os
from pathlib import Path

# Eight devices on a few cores: none may wait for a thread that works for another, nor be given up where cores are busy.
os.environ["XLA_FLAGS"] = (
    "--xla_force_host_platform_device_count=8 --xla_cpu_multi_thread_eigen=false "
    "--xla_cpu_collective_call_terminate_timeout_seconds=600"
)
os.environ["JAX_PLATFORMS"] = "cpu"

import jaxtyping
import pytest
from jaxtyping import install_import_hook

install_import_hook("transformer_jax", "beartype.beartype")

from transformer_jax import config

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture
def shared() -> Path:
    """Real data that lies beside the checkout, not in it."""
    if not SHARED.is_dir():
        pytest.skip("needs the shared data beside the checkout")
    return SHARED


@pytest.fixture
def unchecked_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the tests' own type checks, which are stricter than a user meets: a wrong type gets to the config's."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


@pytest.fixture
def small_model() -> config.Model:
    """A model of the paper's kind whose sizes are different primes, but for d_model, which must be even."""
    return config.Model(
        num_layers=2,
        d_model=14,
        d_ff=23,
        num_heads=3,
        d_k=5,
        d_v=7,
        dropout_rate=0.1,
        attention_dropout_rate=0.0,
        feed_forward_dropout_rate=0.0,
        encoder_neighbourhood=None,
        decoder_neighbourhood=None,
        positions="sinusoidal",
        max_length=31,
        pre_norm=False,
        attention_biases=False,
        shared_embedding=True,
        layer_norm_epsilon=1e-6,
        compute_dtype="float32",
        rematerialise="nothing",
    )
