"""The devices of all processes: a step on every one, and sums over all."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeVar

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Int

Tree = TypeVar("Tree")
Item = TypeVar("Item")
Result = TypeVar("Result")
AXIS = "devices"


def num_devices() -> int:
    """Devices of this process."""
    return jax.local_device_count()


def replicate(tree: Tree) -> Tree:
    """The values of `tree` on every device, laid out as a step returns them: the first step is then no case apart."""
    everywhere = NamedSharding(Mesh(np.array(jax.local_devices()), (AXIS,)), PartitionSpec())
    return jax.device_put(tree, everywhere)


def device_index() -> Int[Array, ""]:
    """Which device of all processes the step runs on, for its own stream of random numbers."""
    return jax.lax.axis_index(AXIS)


def all_reduce(sums: Tree) -> Tree:
    """The sum over devices of every leaf, in one collective."""
    return jax.lax.psum(sums, AXIS)


def on_all_devices(step: Callable[..., Any], *, donate_state: bool, num_shared: int = 0) -> Callable[..., Any]:
    """Compiles `step(state, batch, *shared)` for all devices: each has the whole state and its own shard of the batch.

    `num_shared` further arguments are the same on all of them. Each process gives the shards of its own devices.
    What `step` returns must be equal on all devices, hence made of all-reduced values: device 0's is taken, and keeps
    its plain shape. With `donate_state` the old state's memory is reused, and the caller must not touch it again.
    """
    in_axes = (None, 0, *[None] * num_shared)
    return jax.pmap(step, AXIS, in_axes=in_axes, out_axes=None, donate_argnums=(0,) if donate_state else ())


def copies(tree: Tree) -> dict[jax.Device, Tree]:
    """The values of `tree` on each device of this process."""
    return {device: jax.device_put(tree, device) for device in jax.local_devices()}


def on_each_device(work: Callable[[Item, jax.Device], Result], items: Iterable[Item]) -> Iterator[Result]:
    """`work(item, device)` of each item, in order: on as many at once as there are devices, each on one.

    Items are asked for as devices get free, so there may be any number of them.
    """
    free: SimpleQueue[jax.Device] = SimpleQueue()
    for device in jax.local_devices():
        free.put(device)

    def on_a_free_one(item: Item) -> Result:
        device = free.get()
        try:
            with jax.default_device(device):
                return work(item, device)
        finally:
            free.put(device)

    with ThreadPoolExecutor(num_devices()) as pool:
        waiting: deque[Future[Result]] = deque()
        for item in items:
            waiting.append(pool.submit(on_a_free_one, item))
            if len(waiting) > num_devices():
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
