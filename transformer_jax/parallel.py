"""Data parallelism over the devices of all processes: the only file that names `pmap`, collectives, `jax.distributed`.

A step is written for one device. It sums what it has, all-reduces the sums together, and divides once: means of
per-device means would be wrong whenever devices hold different numbers of tokens.
"""

import atexit
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import distributed
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Int, Int64

from transformer_jax.errors import UserError

Tree = TypeVar("Tree")
Item = TypeVar("Item")
Result = TypeVar("Result")
AXIS = "devices"
LOST_AFTER_SECONDS = 30
_LONGEST_PREPARATION_MS = 7 * 24 * 3600 * 1000


class ProcessesError(UserError):
    """The processes of a run cannot work together: the message says why."""


def initialize(coordinator: str | None = None, num_processes: int | None = None, process_id: int | None = None) -> None:
    """Joins this process to the others of its run, before anything is computed: as given, or as JAX detects them
    (Slurm, Kubernetes, TPU pods, Open MPI).

    A process that is not heard of for `LOST_AFTER_SECONDS` ends all others; so does one that ends without `finish`.

    Raises:
      ProcessesError: they are not found, or have different numbers of devices.
    """
    jax.config.update("jax_enable_preemption_service", False)  # it would take SIGTERM for itself
    try:
        jax.distributed.initialize(
            coordinator,
            num_processes,
            process_id,
            cluster_detection_method="deactivate" if coordinator else None,
            heartbeat_timeout_seconds=LOST_AFTER_SECONDS,
            shutdown_timeout_seconds=LOST_AFTER_SECONDS,
        )
    except (ValueError, RuntimeError) as error:
        why = str(error).splitlines()[0] if coordinator else "JAX detects no cluster that this process belongs to"
        raise ProcessesError(f"the processes of this run do not meet: {why}") from error
    atexit.register(_leave)
    if jax.device_count() != jax.process_count() * jax.local_device_count():
        raise ProcessesError(f"{jax.local_device_count()} devices in this process: others have more or fewer")


def _leave() -> None:
    """Without `finish`, JAX would wait for the others, which wait for this one, and then abort."""
    if jax.distributed.is_initialized():
        os._exit(1)


def finish() -> None:
    """Leaves the others when all of them have come to their end."""
    if jax.distributed.is_initialized():
        meet("end")
        jax.distributed.shutdown()


def meet(where: str) -> None:
    """Waits until all processes are there, however long one of them prepares: the first collective would give up."""
    if num_processes() > 1:
        distributed.global_state.client.wait_at_barrier(where, _LONGEST_PREPARATION_MS)  # type: ignore[union-attr]


def num_processes() -> int:
    return jax.process_count()


def process_index() -> int:
    """The first process, 0, is the one that reads and writes a run's files."""
    return jax.process_index()


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


def from_first(tree: Tree) -> Tree:
    """The values, of 32 bits each, that `tree` has in the first process; its shapes and types are those of all."""
    if num_processes() == 1:
        return tree
    own = jax.tree.map(np.asarray, tree)
    bits = jax.tree.map(lambda leaf: np.atleast_1d(leaf).view(np.uint32), own)  # a sum would lose the sign of a zero
    told = on_all_devices(_of_device_0, donate_state=False)(bits, np.zeros(num_devices(), np.uint32))
    return jax.tree.map(lambda leaf, like: np.asarray(leaf).view(like.dtype).reshape(like.shape), told, own)


def _of_device_0(values: Tree, _: Any) -> Tree:
    return all_reduce(jax.tree.map(lambda leaf: jnp.where(device_index() == 0, leaf, 0), values))


def from_all(values: Int64[np.ndarray, " values"]) -> Int64[np.ndarray, "processes values"]:
    """What each process has."""
    if num_processes() == 1:
        return values[None]
    own = np.zeros((num_devices(), num_processes(), 2 * len(values)), np.uint32)
    own[0, process_index()] = values.view(np.uint32)
    return np.asarray(_total(own)).view(np.int64)


def _total(of_devices: np.ndarray) -> Array:
    return on_all_devices(_add, donate_state=False)((), of_devices)


def _add(_: tuple[()], values: Array) -> Array:
    return all_reduce(values)


class Agreement:
    """What any process may ask for after a step, and all then do after the same step.

    All ask once a step. With several processes, the answer is to what was asked two steps before: nobody waits for it.
    """

    _STEPS = 2

    def __init__(self) -> None:
        self._asked: deque[Array] = deque()

    def __call__(self, asked: bool) -> bool:
        """Whether any process asks."""
        if num_processes() == 1:
            return asked
        self._asked.append(_total(np.full(num_devices(), asked, np.uint32)))
        return len(self._asked) > self._STEPS and bool(self._asked.popleft())


class Division(NamedTuple):
    """How the rows of a batch are divided: each device, counted over all processes in order, has as many as any other.

    So what a device has depends on the number of devices, and not on how many of them are one process's.
    """

    devices: int  # of each process
    accumulation: int  # micro-batches of each device
    rows: int  # of each micro-batch

    def share(self, process: int) -> slice:
        """The rows of a process; there may be fewer, or none."""
        size = self.devices * self.accumulation * self.rows
        return slice(process * size, (process + 1) * size)

    def shards(self, share: Tree) -> Tree:
        """The share's leaves [B, L] as [devices, accumulation, rows, L], filled up with rows of zeros (padding)."""

        def split(leaf: np.ndarray) -> np.ndarray:
            filled = np.zeros((self.devices * self.accumulation * self.rows, leaf.shape[1]), leaf.dtype)
            filled[: len(leaf)] = leaf
            return filled.reshape(*self, leaf.shape[1])

        return jax.tree.map(split, share)


def divide(rows: int, longest: int, *, tokens_per_device: int, devices: int = 0, processes: int = 0) -> Division:
    """The division of `rows` whose longer side is `longest`, over the devices and processes there are, or as given.

    The accumulation is the smallest that keeps rows * longest within `tokens_per_device`, or one row.
    """
    devices = devices or num_devices()
    per_device = -(-rows // (devices * (processes or num_processes())))
    accumulation = -(-per_device // max(tokens_per_device // longest, 1))
    return Division(devices, accumulation, -(-per_device // accumulation))


def shard(batch: Tree, *, tokens_per_device: int, devices: int = 0) -> Tree:
    """This process's shards of a whole batch [B, L], for all its devices or so many. L may differ between leaves."""
    shapes = [leaf.shape for leaf in jax.tree.leaves(batch)]
    rows, longest = shapes[0][0], max(length for _, length in shapes)
    process, processes = (0, 1) if devices else (process_index(), num_processes())
    division = divide(rows, longest, tokens_per_device=tokens_per_device, devices=devices, processes=processes)
    return division.shards(jax.tree.map(lambda leaf: leaf[division.share(process)], batch))
