"""What a sweep has come to so far: its trials ranked, all of them as CSV, the best one's config."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from optuna.trial import FrozenTrial, TrialState

from experiments.registry import ranking
from experiments.registry.records import RunRecord, read_runs
from experiments.registry.tables import Table
from experiments.study.pictures import write_pictures
from experiments.study.trials import FAILURE, SPLIT, Trials, folder_name
from experiments.workdir import write_text
from transformer_jax.errors import UserError

_WORDS = {
    TrialState.COMPLETE: "finished",
    TrialState.PRUNED: "pruned",
    TrialState.FAIL: "failed",
    TrialState.RUNNING: "unfinished",
    TrialState.WAITING: "unfinished",
}


def write_report(trials: Trials) -> str:
    """Writes `leaderboard.md`, `trials.csv`, `best.gin` and the pictures into the workdir; returns what is to be read.

    Ranked are the trials' runs by their results, as `python -m experiments.runs best` ranks any runs.
    """
    study, workdir, metric = trials.study(), trials.workdir, trials.definition.sweep.metric
    listed = study.get_trials(deepcopy=False)  # once: other processes may be adding to them
    counts = Counter(_WORDS[trial.state] for trial in listed)
    lines = [f"{len(listed)} trials: {', '.join(f'{count} {word}' for word, count in counts.items()) or 'none'}"]
    lines += [f"{folder_name(trial.number)} failed: {trial.user_attrs[FAILURE]}" for trial in listed
              if trial.state == TrialState.FAIL]  # fmt: skip
    write_text(workdir / "trials.csv", all_trials(listed).text("csv"))
    written = ["trials.csv"]
    records = _finished(workdir, listed)
    if records:
        repeated = ranking.ranking(records, metric, SPLIT)
        lines += ["", ranking.ranking_table(repeated, metric, SPLIT).text("markdown")]
        lines += ranking.notes(repeated, records, metric, SPLIT)
        write_text(workdir / "best.gin", ranking.winner_gin(repeated, metric, SPLIT))
        written += ["best.gin"]
    text = "\n".join(lines) + "\n"
    write_text(workdir / "leaderboard.md", text)
    notes = write_pictures(study, metric, workdir)
    pictures = [path.name for kind in ("html", "png") for path in sorted(workdir.glob(f"*.{kind}"))]
    written += ["leaderboard.md", *pictures]
    return text + "".join(f"{note}\n" for note in notes) + f"written to {workdir}: {', '.join(written)}"


class SweepError(UserError):
    """A sweep that has come to nothing."""


def require_not_all_failed(trials: Trials) -> None:
    """A trial that fails is a point that cannot be trained. When all do, it is not the points.

    Raises:
      SweepError: with the first one's reason.
    """
    ended = [trial for trial in trials.study().get_trials(deepcopy=False) if trial.state.is_finished()]
    if ended and all(trial.state == TrialState.FAIL for trial in ended):
        raise SweepError(f"{trials.workdir}: all {len(ended)} trials failed, the first: {ended[0].user_attrs[FAILURE]}")


def _finished(workdir: Path, trials: Sequence[FrozenTrial]) -> list[RunRecord]:
    """The runs of the trials that have a value."""
    folders = [workdir / folder_name(trial.number) for trial in trials if trial.state == TrialState.COMPLETE]
    return read_runs(folders) if folders else []


def all_trials(trials: Sequence[FrozenTrial]) -> Table:
    """A row a trial, with its point and what became of it."""
    names = list(dict.fromkeys(name for trial in trials for name in trial.params))
    columns = ["trial", "state", "value", *names, "last_step_reported", "seconds", "begun", "folder", "failure"]
    return Table(columns, [_row(trial, names) for trial in trials])


def _row(trial: FrozenTrial, names: list[str]) -> list[object]:
    value = trial.value if trial.state == TrialState.COMPLETE else None
    seconds = trial.duration.total_seconds() if trial.duration else None
    begun = trial.datetime_start.isoformat(timespec="seconds") if trial.datetime_start else None
    point = [trial.params.get(name) for name in names]
    what = [trial.number, _WORDS[trial.state], value, *point, trial.last_step, seconds, begun]
    return [*what, folder_name(trial.number), trial.user_attrs.get(FAILURE)]
