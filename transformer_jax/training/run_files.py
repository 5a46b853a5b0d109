"""What a run keeps in its workdir: the first of its processes reads and writes it alone, and tells the others."""

from pathlib import Path

import jax
import numpy as np

from transformer_jax import config, parallel
from transformer_jax.training.checkpoint import CheckpointError, Checkpoints
from transformer_jax.training.metrics_log import MetricsLog, Record
from transformer_jax.training.observer import Observer
from transformer_jax.training.skipped import Skip, batch_of, skip_record, skips_of
from transformer_jax.training.step import TrainState
from transformer_jax.training.window import NotFiniteError


class RunFiles:
    """The checkpoints and the log of a run in `workdir`; in any process but the first, nothing.

    A stop between two checkpoints is saved apart: were it one of them, the average would depend on when a run was
    stopped, and an older one would have had to go for it.
    """

    def __init__(self, workdir: Path, training: config.Training, observer: Observer):
        self.skips: list[Skip] = []
        self._log: MetricsLog | None = None
        self._observer = observer
        self._most_skips = training.skip_non_finite
        self._is_first = parallel.process_index() == 0
        if self._is_first:
            self._workdir = workdir
            self._checkpoints = Checkpoints(workdir / "checkpoints", keep=training.keep_checkpoints)
            self._interrupted = Checkpoints(workdir / "interrupted", keep=1)

    @property
    def records(self) -> list[Record]:
        """Those of the log."""
        return self._log.records if self._log else []

    def resume(self, initial: TrainState) -> TrainState:
        """The newest state that is whole, or the initial one, on all devices; the log ends at its step."""
        state = parallel.replicate(initial)
        if self._is_first:
            state = self._newest_state(state)
            self.close()
            self._log = MetricsLog(self._workdir, resumed_at=int(state.step))
        self.skips = skips_of(self.records)
        return parallel.replicate(parallel.from_first(state))

    def go_back(self, initial: TrainState, error: NotFiniteError) -> TrainState:
        """The state of the newest checkpoint that is whole, after which the batches that led to `error` are left out.

        A state that was saved apart is none of them: else what is left out would depend on when a run was stopped. It
        goes first: a run that is killed here comes to the same error again.

        Raises:
          NotFiniteError: there is none, or the run may not go back once more.
        """
        if len(self.skips) >= self._most_skips:
            rule = f"goes back to it, and on without these batches, Training.skip_non_finite = {self._most_skips} times"
            raise NotFiniteError(error.step, f"{error.what}; the last checkpoint is from before; a run {rule} at most")
        last = batch_of(error.step - 1, self.skips)
        if self._is_first:
            self._interrupted.clear()
        state = self.resume(initial)
        step = int(state.step)
        skip = Skip(step, batch_of(step, self.skips), last)
        self.append(skip_record(skip, str(error)))
        self.skips.append(skip)
        self._observer.say(f"{error}; went back to step {step}, and on without batches {skip.first} to {skip.last}")
        return state

    def append(self, record: Record) -> None:
        if self._log:
            self._log.append(record)
        self._observer.record(record)

    def save(self, state: TrainState, *, interrupted: bool = False) -> None:
        """Keeps `state`, apart if the run is interrupted there.

        Raises:
          NotFiniteError: a finite loss can have an update that is not; once saved, a run could never again go on.
        """
        if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(jax.device_get(state.params))):
            raise NotFiniteError(int(state.step), "a parameter is not finite")
        if self._is_first:
            (self._interrupted if interrupted else self._checkpoints).save(state)

    def close(self) -> None:
        if self._log:
            self._log.close()

    def _newest_state(self, initial: TrainState) -> TrainState:
        say, restored = self._observer.say, None
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
