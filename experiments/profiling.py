"""A trace of some updates of a run, to be looked at in TensorBoard or Perfetto."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import jax

from transformer_jax.training.observer import Observer

_FIRST_UPDATES = 20  # left out: most of them compile


@contextmanager
def traced(observer: Observer, folder: Path, updates: int) -> Iterator[Observer]:
    """Yields the same observer, under which so many updates are traced into `folder`, after this process's first 20.

    Both formats are written: TensorBoard reads the folder, Perfetto the file perfetto_trace.json.gz in it.
    """
    made, tracing = 0, False

    def should_stop() -> bool:
        nonlocal made, tracing
        made += 1
        if made == _FIRST_UPDATES:
            jax.profiler.start_trace(str(folder), create_perfetto_trace=True)
            tracing = True
        elif tracing and made == _FIRST_UPDATES + updates:
            tracing = False
            jax.profiler.stop_trace()
            observer.say(f"{updates} updates traced in {folder}: tensorboard --logdir={folder}, or ui.perfetto.dev")
        return observer.should_stop()

    try:
        yield replace(observer, should_stop=should_stop)
    finally:
        if tracing:
            jax.profiler.stop_trace()
