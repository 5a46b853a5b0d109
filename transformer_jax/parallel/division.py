"""How the rows of a batch are divided over the devices of all processes."""

from typing import NamedTuple, TypeVar

import jax
import numpy as np

from transformer_jax.parallel.devices import num_devices
from transformer_jax.parallel.processes import num_processes, process_index

Tree = TypeVar("Tree")


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
