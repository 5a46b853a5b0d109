"""Data parallelism over devices: the only file that names `pmap` and its collectives.

A step is written for one device. It sums what it has, all-reduces the sums together, and divides once: means of
per-device means would be wrong whenever devices hold different numbers of tokens.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Int

Tree = TypeVar("Tree")
AXIS = "devices"


def num_devices() -> int:
    """Devices of this process."""
    return jax.local_device_count()


def replicate(tree: Tree) -> Tree:
    """The values of `tree` on every device, laid out as a step returns them: the first step is then no case apart."""
    everywhere = NamedSharding(Mesh(np.array(jax.local_devices()), (AXIS,)), PartitionSpec())
    return jax.device_put(tree, everywhere)


def device_index() -> Int[Array, ""]:
    """Which device the step runs on, for its own stream of random numbers."""
    return jax.lax.axis_index(AXIS)


def all_reduce(sums: Tree) -> Tree:
    """The sum over devices of every leaf, in one collective."""
    return jax.lax.psum(sums, AXIS)


def on_all_devices(step: Callable[..., Any], *, donate_state: bool, num_shared: int = 0) -> Callable[..., Any]:
    """Compiles `step(state, batch, *shared)` for all devices: each has the whole state and its own shard of the batch.

    `num_shared` further arguments are the same on all of them.
    What `step` returns must be equal on all devices, hence made of all-reduced values: device 0's is taken, and keeps
    its plain shape. With `donate_state` the old state's memory is reused, and the caller must not touch it again.
    """
    in_axes = (None, 0, *[None] * num_shared)
    return jax.pmap(step, AXIS, in_axes=in_axes, out_axes=None, donate_argnums=(0,) if donate_state else ())


def shard(batch: Tree, *, tokens_per_device: int, devices: int | None = None) -> Tree:
    """Leaves [B, L] to [devices, accumulation, rows, L], filled up with rows of zeros (padding) if B does not divide.

    Without `devices`, for those of this process. L may differ between leaves, B may not. The accumulation, that of all
    leaves, is the smallest that keeps rows * the longest L within `tokens_per_device`, or one row.
    """
    devices = devices or num_devices()
    shapes = [leaf.shape for leaf in jax.tree.leaves(batch)]
    per_device = -(-shapes[0][0] // devices)
    accumulation = -(-per_device // max(tokens_per_device // max(length for _, length in shapes), 1))
    rows_at_a_time = -(-per_device // accumulation)

    def split(leaf: np.ndarray) -> np.ndarray:
        rows, length = leaf.shape
        filled = np.zeros((devices * accumulation * rows_at_a_time, length), leaf.dtype)
        filled[:rows] = leaf
        return filled.reshape(devices, accumulation, rows_at_a_time, length)

    return jax.tree.map(split, batch)
