"""What the processes of a run tell each other."""

from collections import deque
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int64

from transformer_jax.parallel.devices import all_reduce, device_index, num_devices, on_all_devices
from transformer_jax.parallel.processes import num_processes, process_index

Tree = TypeVar("Tree")


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
