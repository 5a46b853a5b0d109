"""Memory that a device lacks becomes one line that says which setting to lower, and to what."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import jax

from transformer_jax.config import Experiment
from transformer_jax.errors import UserError


class DeviceMemoryError(UserError):
    """A device has not the memory that is wanted: the message names the setting that decides about it."""


@contextmanager
def told_if_too_little(setting: str, experiment: Experiment) -> Iterator[None]:
    """What JAX raises for want of memory is raised as DeviceMemoryError; `setting` ("Batching.tokens_per_device")
    says how many positions a device has at a time, and so does the longest pair, where that is longer.
    """
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        wanted, free = _wanted(str(error)), _free()
        part, name = setting.split(".")
        value = getattr(getattr(experiment, part.lower()), name)
        if value <= experiment.data.max_train_length:  # a batch is a pair then
            setting, value = "Data.max_train_length", experiment.data.max_train_length
        sizes = ", ".join([*_told("wanted", wanted), *_told("free", free)])
        device = jax.local_devices()[0].device_kind
        raise DeviceMemoryError(
            f"out of memory on {device}{f' ({sizes})' if sizes else ''}: lower {setting} from {value} to "
            f"{lowered(value, wanted, free)}; a run that has begun goes on with it by --accept_changes"
        ) from error


def lowered(value: int, wanted: int | None, free: int | None) -> int:
    """Half of `value`, or less where what is wanted is more than twice what is free."""
    if wanted and free is not None:
        return max(min(value // 2, value * free // wanted), 1)
    return max(value // 2, 1)


def _wanted(message: str) -> int | None:
    found = re.search(r"allocat\w* (\d+) bytes", message)
    return int(found[1]) if found else None


def _free() -> int | None:
    """Of the first device; not all kinds say."""
    stats = jax.local_devices()[0].memory_stats() or {}
    if not {"bytes_limit", "bytes_in_use"} <= stats.keys():
        return None
    return stats["bytes_limit"] - stats["bytes_in_use"]


def _told(what: str, size: int | None) -> list[str]:
    return [f"{size / 2**30:,.1f} GiB {what}"] if size is not None else []
