"""Trials of a sweep: taken from its study by any number of processes, run, told to it.

A trial is a point of the space and a folder, in which each seed is a run as any other. The operating system's lock on
the folder says whose a trial is: one whose process was killed is free at once, and goes on from its checkpoint in
whichever process takes it next. (Optuna's own heartbeat does neither: it does not work where trials are asked for and
told, and it begins a lost trial anew under another number.)
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import optuna
from optuna.trial import Trial, TrialState

from experiments.registry.ranking import over_seeds
from experiments.registry.records import read_run
from experiments.run_list import Run, RunList
from experiments.study.definition import Definition
from experiments.study.pruning import Pruning
from experiments.study.sampling import pruner, sampler
from experiments.study.space import suggested
from experiments.study.storage import LOCK, open_study, told_in_one_line
from transformer_jax.checked import ConfigError
from transformer_jax.lock import taken, waited_for
from transformer_jax.training.loop import Observer

SPLIT = "dev"
FAILURE = "failure"  # the trial's attribute that says why it failed


def folder_name(number: int) -> str:
    """Of a trial."""
    return f"trial_{number:04d}"


@dataclass(frozen=True)
class Trials:
    """The trials of a sweep, in a workdir that all its processes see; the study may be in a database elsewhere."""

    workdir: Path
    storage: str | None  # the database's URL; None: it is in the workdir
    definition: Definition

    def study(self) -> optuna.Study:
        """Raises WorkdirError, StorageError."""
        study = open_study(self.workdir, self.storage, self.definition)
        study.pruner = pruner(self.definition.sweep)
        return study

    def left(self) -> list[int]:
        """The numbers of the trials that have not ended; another process may be at them."""
        trials = self.study().get_trials(deepcopy=False)
        not_ended = [trial.number for trial in trials if not trial.state.is_finished()]
        return [*not_ended, *range(len(trials), self._count)]

    def work(self, *, at_most: int | None = None, observer: Observer) -> None:
        """Takes one trial after another that is left and that no other process has; no more than `at_most`."""
        study = self.study()
        made = 0
        with told_in_one_line(self.storage):
            while made != at_most and not observer.should_stop():
                with self._taken(study) as trial:
                    if trial is None or not self._run(trial, observer):
                        return
                made += 1

    @property
    def _count(self) -> int:
        points = self.definition.points
        return self.definition.sweep.trials if points is None else len(points)

    @contextmanager
    def _taken(self, study: optuna.Study) -> Iterator[Trial | None]:
        """A trial that this process has to itself: one left half-way, or a new one; None where there is none.

        Processes choose one at a time, so that each knows what the others have chosen.
        """
        with ExitStack() as held:
            with waited_for(self.workdir / LOCK):
                trial = next((trial for trial in self._candidates(study) if self._lock(trial, held)), None)
            yield trial

    def _candidates(self, study: optuna.Study) -> Iterator[Trial]:
        for left in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            study.sampler = sampler(self.definition.sweep, left.number)
            yield Trial(study, left._trial_id)
        trials = study.get_trials(deepcopy=False)
        waiting = [trial.number for trial in trials if trial.state == TrialState.WAITING]
        if waiting or len(trials) < self._count:
            study.sampler = sampler(self.definition.sweep, min([*waiting, len(trials)]))
            if not waiting and self.definition.points is not None:
                study.enqueue_trial(self.definition.points[len(trials)])
            yield study.ask()

    def _lock(self, trial: Trial, held: ExitStack) -> bool:
        """Whether the trial is now this process's, its point chosen; `held` lets go of it."""
        folder = self.workdir / folder_name(trial.number)
        folder.mkdir(exist_ok=True)
        with ExitStack() as attempt:
            if attempt.enter_context(taken(folder / ".trial.lock")):
                return False
            (state,) = (each.state for each in trial.study.get_trials(deepcopy=False) if each.number == trial.number)
            if state.is_finished():  # since it was listed
                return False
            suggested(self.definition.space, trial)
            held.enter_context(attempt.pop_all())
            return True

    def _run(self, trial: Trial, observer: Observer) -> bool:
        """Whether the trial has ended; it has not where it was stopped."""
        name = folder_name(trial.number)
        point = ", ".join(f"{key} = {value}" for key, value in trial.params.items())
        observer.say(f"{name}, of {self._count}: {point}")
        try:
            runs = self._runs(trial)
        except ConfigError as error:
            return _told(trial, TrialState.FAIL, failure=str(error))
        folder = self.workdir / name
        first, others = RunList(runs[:1], folder, SPLIT), RunList(runs[1:], folder, SPLIT)
        if first.left():
            pruning = Pruning(trial, observer)
            first.work(observer=pruning.observer)
            if pruning.decided:
                return _told(trial, TrialState.PRUNED)
        if first.result(runs[0]):
            others.work(observer=observer)
        return self._outcome(trial, RunList(runs, folder, SPLIT))

    def _runs(self, trial: Trial) -> list[Run]:
        params, trained = suggested(self.definition.space, trial), self.definition.sweep.trained
        weights = None if trained is None else Path(trained)
        return [Run(f"seed_{seed}", self.definition.experiment(params, seed), weights)
                for seed in self.definition.seeds]  # fmt: skip

    def _outcome(self, trial: Trial, runs: RunList) -> bool:
        failed = [state.detail for run in runs.runs if (state := runs.state(run)).kind == "failed"]
        if failed:
            return _told(trial, TrialState.FAIL, failure=failed[0].removeprefix("failed: "))
        if runs.left():
            return False
        metric = self.definition.sweep.metric
        scores = [read_run(runs.root / run.name).scores(SPLIT)[metric] for run in runs.runs]
        finite = [score for score in scores if score is not None]
        if len(finite) < len(scores):
            return _told(trial, TrialState.FAIL, failure=f"{metric} is not finite")
        return _told(trial, TrialState.COMPLETE, value=over_seeds(metric, finite).mean)


def _told(trial: Trial, state: TrialState, *, value: float | None = None, failure: str | None = None) -> bool:
    if failure is not None:
        trial.set_user_attr(FAILURE, failure)
    trial.study.tell(trial.number, value, state)
    return True
