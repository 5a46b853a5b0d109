"""Who watches a run."""

from collections.abc import Callable
from dataclasses import dataclass

from transformer_jax.training.metrics_log import Record


@dataclass(frozen=True)
class Observer:
    """Who watches a run, in each of its processes. Nothing of the run depends on it but when it stops early."""

    record: Callable[[Record], None]  # every record of metrics.jsonl
    say: Callable[[str], None]  # one line for a person
    should_stop: Callable[[], bool]  # asked after every step; True: save and return. Of several processes all do so
    added: Callable[[Record], Record] = lambda _: {}  # what else a training record is to say
