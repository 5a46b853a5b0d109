"""Data parallelism over the devices of all processes: the only place of `pmap` and `jax.distributed`.

A step is written for one device. It sums what it has, all-reduces the sums together, and divides once: means of
per-device means would be wrong whenever devices hold different numbers of tokens.
"""

from transformer_jax.parallel.devices import (
    AXIS,
    all_reduce,
    copies,
    device_index,
    num_devices,
    on_all_devices,
    on_each_device,
    replicate,
)
from transformer_jax.parallel.division import Division, divide, shard
from transformer_jax.parallel.messages import Agreement, from_all, from_first
from transformer_jax.parallel.processes import (
    LOST_AFTER_SECONDS,
    ProcessesError,
    finish,
    initialize,
    meet,
    num_processes,
    process_index,
)

__all__ = [
    "AXIS",
    "LOST_AFTER_SECONDS",
    "Agreement",
    "Division",
    "ProcessesError",
    "all_reduce",
    "copies",
    "device_index",
    "divide",
    "finish",
    "from_all",
    "from_first",
    "initialize",
    "meet",
    "num_devices",
    "num_processes",
    "on_all_devices",
    "on_each_device",
    "process_index",
    "replicate",
    "shard",
]
