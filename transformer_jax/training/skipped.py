"""Batches that a run left out, since they led to a loss that is not finite, and which batch each step then reads.

The list of them stands in the log and nowhere else: a run that is resumed leaves out what it left out before.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from transformer_jax import parallel
from transformer_jax.training.metrics_log import Record

KIND = "skipped"


class Skip(NamedTuple):
    """After `step` updates, the batches `first` to `last`, counted from 0 over all epochs, were not read."""

    step: int
    first: int
    last: int


def batch_of(step: int, skips: Sequence[Skip]) -> int:
    """The batch of the update that is made after `step` others."""
    return step + sum(skip.last - skip.first + 1 for skip in skips if skip.step <= step)


def skip_record(skip: Skip, why: str) -> Record:
    return {"kind": KIND, "step": skip.step, "from": skip.first, "to": skip.last, "why": why}


def skips_of(records: Sequence[Record]) -> list[Skip]:
    """Those that a log tells of; the first process, which has the log, tells the others."""
    own = [Skip(record["step"], record["from"], record["to"]) for record in records if record["kind"] == KIND]
    told = np.zeros((int(parallel.from_first(np.uint32(len(own)))), len(Skip._fields)), np.uint32)
    told[: len(own)] = np.array(own, np.uint32).reshape(-1, len(Skip._fields))
    return [Skip(*row) for row in np.asarray(parallel.from_first(told)).tolist()]
