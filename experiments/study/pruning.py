"""A trial stopped early: by its first seed's dev losses, beside those of other trials at the same step."""

from optuna.exceptions import StorageInternalError
from optuna.study import StudyDirection
from optuna.trial import Trial
from sqlalchemy.exc import SQLAlchemyError

from transformer_jax.training.loop import Observer
from transformer_jax.training.metrics_log import Record


class Pruning:
    """Reports a run's dev losses to its study as they are logged, and stops it when the study's pruner says so.

    A run that goes on after it was killed logs some losses again, which are the same and are not reported again.
    """

    def __init__(self, trial: Trial, observer: Observer):
        self._trial = trial
        self._outer = observer
        self._reported = set(trial.study.get_trials(deepcopy=False)[trial.number].intermediate_values)
        self._sign = -1.0 if trial.study.direction == StudyDirection.MAXIMIZE else 1.0
        self.decided = bool(self._reported) and trial.should_prune()  # before it was killed, but not told

    @property
    def observer(self) -> Observer:
        return Observer(self._record, self._outer.say, lambda: self.decided or self._outer.should_stop())

    def _record(self, record: Record) -> None:
        self._outer.record(record)
        if record["kind"] != "dev" or record["step"] in self._reported:
            return
        try:
            self._reported.add(record["step"])
            self._trial.report(self._sign * record["negative_log_likelihood"], record["step"])
            self.decided = self._trial.should_prune()
        except (SQLAlchemyError, StorageInternalError) as error:  # hours of training are not thrown away for it
            self._outer.say(f"not reported, and not pruned: {str(error).splitlines()[0]}")
        if self.decided:
            self._outer.say(f"pruned at step {record['step']:,}")
