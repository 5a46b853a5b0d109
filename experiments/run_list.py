"""A run, and a list of runs: an ablation and a sweep are both such a list, they differ in who makes it.

A run's folder lies in the list's, under the run's name. It says by itself how far the run is, so any number of
processes and machines that share the file system can work the same list, and a list that was stopped or killed goes on.
"""

import json
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax

from experiments import workdir as workdirs
from experiments.added_settings import ADDED
from experiments.gin_bindings import resolved
from experiments.provenance import provenance
from experiments.scoring import score_in
from experiments.training import train_in
from experiments.workdir import WorkdirError
from transformer_jax.config import Experiment
from transformer_jax.errors import UserError
from transformer_jax.lock import taken
from transformer_jax.training.loop import Observer
from transformer_jax.training.metrics_log import read_metrics

FAILURE = "failure.json"


class RunError(UserError):
    """Runs of a list that have failed."""


class Run(NamedTuple):
    """An experiment, and the name of its folder."""

    name: str
    experiment: Experiment
    trained: Path | None = None  # the folder of the run whose weights are scored; None: it trains its own


_ENDED = ("finished", "failed")


class State(NamedTuple):
    """How far a run is."""

    kind: Literal["not run", "unfinished", "failed", "finished"]
    detail: str  # for people


@dataclass(frozen=True)
class RunList:
    """Runs whose folders lie in `root`, each scored on `split` when it is trained."""

    runs: Sequence[Run]
    root: Path
    split: str

    def require_own(self) -> None:
        """Every folder that is there is the same run's, and so are its results; nothing is changed.

        Raises:
          WorkdirError: one was made with another config.
        """
        for run in self.runs:
            if (self.root / run.name).exists():
                workdirs.claim(self.root / run.name, run.experiment, accept_changes=False)
                self.result(run)

    def result(self, run: Run) -> dict[str, Any] | None:
        """The run's entry in its results; None if it has none yet.

        Raises:
          WorkdirError: the file cannot be read, or was made with other settings than the run's.
        """
        path = self.root / run.name / "results.json"
        if not path.exists():
            return None
        try:
            entry = json.loads(path.read_text(encoding="utf-8")).get(self.split)
            theirs = entry and {**ADDED, **entry["settings"]}
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise WorkdirError(f"{path} is not a run's results: move it away and run it again") from error
        ours = json.loads(json.dumps(resolved(run.experiment)))
        if entry and theirs != ours:
            changes = "; ".join(f"{name}: {theirs.get(name)!r} -> {ours[name]!r}" for name in ours
                                if theirs.get(name) != ours[name])  # fmt: skip
            raise WorkdirError(f"{path} was made with another config ({changes}): move it away and run it again")
        return entry

    def state(self, run: Run) -> State:
        folder = self.root / run.name
        if self.result(run):
            return State("finished", "finished")
        if (folder / FAILURE).exists():
            return State("failed", f"failed: {json.loads((folder / FAILURE).read_text(encoding='utf-8'))['error']}")
        records = read_metrics(folder / "metrics.jsonl")
        if folder.exists():
            step = max((record["step"] for record in records), default=0)
            return State("unfinished", f"at step {step:,} of {run.experiment.training.num_steps:,}")
        return State("not run", "not run")

    def require_none_failed(self) -> None:
        """Raises RunError that lists the failed ones."""
        failed = [(run, state) for run in self.runs if (state := self.state(run)).kind == "failed"]
        if failed:
            listed = "; ".join(f"{self.root / run.name} {state.detail}" for run, state in failed)
            raise RunError(f"{len(failed)} of {len(self.runs)} runs failed (--retry_failed runs them again): {listed}")

    def left(self) -> list[Run]:
        """What is neither finished nor failed; another process may be at it."""
        return [run for run in self.runs if self.state(run).kind not in _ENDED]

    def forget_failures(self) -> None:
        """What has failed is left to be run again, from where it stood."""
        for run in self.runs:
            (self.root / run.name / FAILURE).unlink(missing_ok=True)

    def work(self, *, at_most: int | None = None, observer: Observer) -> None:
        """Runs what is left, in order, but what another process has taken; no more than `at_most` runs.

        A run that fails is noted and the list goes on: one that diverges must not take the others with it.
        """
        made = 0
        for number, run in enumerate(self.runs, 1):
            if made == at_most or observer.should_stop():
                break
            if self.state(run).kind in _ENDED:
                continue
            folder = self.root / run.name
            workdirs.claim(folder, run.experiment, accept_changes=False)
            with taken(folder / ".run.lock") as owner:
                if owner:
                    observer.say(f"{run.name}: {owner} has it")
                elif self.state(run).kind not in _ENDED:  # it may have ended since
                    observer.say(f"{run.name}, {number} of {len(self.runs)}")
                    self._execute(run, observer)
                    made += 1

    def _execute(self, run: Run, observer: Observer) -> None:
        folder = self.root / run.name
        try:
            if run.trained is None:
                train_in(folder, run.experiment, observer)
            if not observer.should_stop():
                score_in(folder, run.experiment, self.split, trained=run.trained)
        except Exception as error:  # out of memory, or a bug: whatever it is, the next run is another one
            reason = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
            note = {"error": reason.splitlines()[0], "traceback": traceback.format_exc(), **provenance()}
            workdirs.write_text(folder / FAILURE, json.dumps(note, indent=2) + "\n")
            observer.say(f"{run.name} failed: {note['error']}")
        finally:
            jax.clear_caches()  # of programs that no other run shares
