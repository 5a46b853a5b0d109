"""The processes of one run: how they meet and part."""

import atexit
import os

import jax
from jax._src import distributed

from transformer_jax.errors import UserError

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
