"""A device without memory: one line that names the setting, what it is and what to try."""

import jax
import jax.numpy as jnp
import pytest
from tiny_experiment import tiny_experiment

from experiments import device_memory
from experiments.device_memory import DeviceMemoryError, lowered, told_if_too_little
from transformer_jax.errors import UserError

DEVICE = "Batching.tokens_per_device"
GIBI = 2**30


def message(setting: str, error: Exception, **changes) -> str:
    with pytest.raises(DeviceMemoryError) as raised, told_if_too_little(setting, tiny_experiment(**changes)):
        raise error
    assert isinstance(raised.value, UserError)
    return str(raised.value)


def exhausted(text: str) -> Exception:
    return jax.errors.JaxRuntimeError(f"RESOURCE_EXHAUSTED: {text}")


def test_a_real_one():
    """4 PiB are in no machine."""
    with pytest.raises(DeviceMemoryError) as raised, told_if_too_little(DEVICE, tiny_experiment(tokens_per_device=50)):
        jnp.zeros(2**50).block_until_ready()
    assert str(raised.value) == (
        "out of memory on cpu (4,194,304.0 GiB wanted): lower Batching.tokens_per_device from 50 to 25; "
        "a run that has begun goes on with it by --accept_changes"
    )


def test_what_a_gpu_says(monkeypatch):
    monkeypatch.setattr(device_memory, "_free", lambda: 10 * GIBI)
    error = exhausted(f"Out of memory while trying to allocate {40 * GIBI} bytes.\nmore\nlines")
    told = message(DEVICE, error, tokens_per_device=1000)
    assert "(40.0 GiB wanted, 10.0 GiB free): lower Batching.tokens_per_device from 1000 to 250;" in told
    assert "lower Decoding.tokens_per_batch from 256 to 64;" in message("Decoding.tokens_per_batch", error)
    assert len(told.splitlines()) == 1


def test_a_pair_that_is_a_batch():
    """Where fewer positions than the longest pair's are asked for, a device has one pair."""
    told = message(DEVICE, exhausted("no more"), tokens_per_device=29, max_train_length=29)
    assert told.startswith("out of memory on cpu: lower Data.max_train_length from 29 to 14;")


@pytest.mark.parametrize(
    ("value", "wanted", "free", "expected"),
    [
        (1000, None, None, 500),
        (1000, 40, None, 500),
        (1000, 40, 30, 500),
        (1000, 40, 10, 250),
        (1000, 40, 0, 1),
        (1, None, None, 1),
    ],
)
def test_by_how_much(value, wanted, free, expected):
    assert lowered(value, wanted, free) == expected


def test_other_errors_are_left():
    for error in (jax.errors.JaxRuntimeError("INTERNAL: x"), ValueError("RESOURCE_EXHAUSTED: of a library of files")):
        with pytest.raises(type(error), match=str(error)), told_if_too_little(DEVICE, tiny_experiment()):
            raise error
