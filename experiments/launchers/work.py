"""What a launcher needs to know of a list of runs."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from transformer_jax.training.loop import Observer


class Work(Protocol):
    """Runs that any number of processes may work at once; it can be pickled, and has no state but its folders."""

    def left(self) -> Sequence[object]:
        """What has neither finished nor failed; somebody may be at it."""

    def work(self, *, at_most: int | None = None, observer: Observer) -> None:
        """Runs what is left and free, in order, but no more than `at_most`; goes on with what was interrupted."""


class Need(NamedTuple):
    """What a run takes of a machine, and how many runs may be begun; None: all that are left."""

    cpus: int
    gpus: int
    at_most: int | None
