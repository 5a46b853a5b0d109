"""What a run keeps in its workdir: the first of its processes reads and writes it alone, and tells the others."""

from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

from transformer_jax import config, parallel
from transformer_jax.training.checkpoint import CheckpointError, Checkpoints
from transformer_jax.training.metrics_log import MetricsLog, Record
from transformer_jax.training.step import TrainState
from transformer_jax.training.window import TrainingError


class RunFiles:
    """The checkpoints and the log of a run in `workdir`; in any process but the first, nothing.

    A stop between two checkpoints is saved apart: were it one of them, the average would depend on when a run was
    stopped, and an older one would have had to go for it.
    """

    def __init__(self, workdir: Path, training: config.Training):
        self._log: MetricsLog | None = None
        self._is_first = parallel.process_index() == 0
        if self._is_first:
            self._workdir = workdir
            self._checkpoints = Checkpoints(workdir / "checkpoints", keep=training.keep_checkpoints)
            self._interrupted = Checkpoints(workdir / "interrupted", keep=1)

    @property
    def records(self) -> list[Record]:
        """Those of the log."""
        return self._log.records if self._log else []

    def resume(self, initial: TrainState, say: Callable[[str], None]) -> TrainState:
        """The newest state that is whole, or the initial one, on all devices; the log ends at its step."""
        state = parallel.replicate(initial)
        if self._is_first:
            state = self._newest_state(state, say)
            self._log = MetricsLog(self._workdir, resumed_at=int(state.step))
        return parallel.replicate(parallel.from_first(state))

    def append(self, record: Record) -> None:
        if self._log:
            self._log.append(record)

    def save(self, state: TrainState, *, interrupted: bool = False) -> None:
        """Keeps `state`, apart if the run is interrupted there.

        Raises:
          TrainingError: a finite loss can have an update that is not; once saved, a run could never again go on.
        """
        if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(jax.device_get(state.params))):
            raise TrainingError(
                f"step {int(state.step)}: a parameter is not finite; the last checkpoint is from before"
            )
        if self._is_first:
            (self._interrupted if interrupted else self._checkpoints).save(state)

    def close(self) -> None:
        if self._log:
            self._log.close()

    def _newest_state(self, initial: TrainState, say: Callable[[str], None]) -> TrainState:
        restored = None
        if max(self._interrupted.steps, default=0) > max(self._checkpoints.steps, default=0):
            try:
                restored = self._interrupted.restore_newest(initial, say)
            except CheckpointError:
                self._interrupted.clear()
        restored = restored or self._checkpoints.restore_newest(initial, say)
        if restored is None:
            return initial
        say(f"resumed from step {int(restored.step)}")
        return restored
