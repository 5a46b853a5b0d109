"""The registry of runs: what the folders of runs hold, read into values.

A run is a folder with a `config.gin`. No list is kept beside the folders: they can be moved, copied and deleted. What a
file lacks is blank; what cannot be read is said. Nothing is written.
"""

import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.gin_bindings import resolved
from experiments.registry.files import json_lines, json_object
from experiments.results import training_summary
from experiments.run_list import FAILURE
from experiments.workdir import read_experiment
from transformer_jax.checked import ConfigError
from transformer_jax.config import Experiment
from transformer_jax.errors import UserError
from transformer_jax.training.loop import out_of_patience

CONFIG = "config.gin"
HIGHER_IS_BETTER = {
    "bleu": True,
    "chrf": True,
    "exact_match_percent": True,
    "f1": True,  # of brackets; of runs whose targets are trees
    "perplexity_per_piece": False,
    "loss": False,  # per piece, without smoothing, on the dev set, as last logged while training
}
SEED = "Training.seed"
PLACES = {"Data.cache_directory"}  # where a machine keeps copies: nothing of a run depends on it


class RegistryError(UserError):
    """Folders without runs, or a question about runs that cannot be answered."""


@dataclass(frozen=True)
class RunRecord:
    """A run's folder as it was when it was read."""

    path: Path
    experiment: Experiment | None  # None: its config cannot be read
    launches: tuple[dict[str, Any], ...]
    logged: tuple[dict[str, Any], ...]  # of metrics.jsonl
    results: dict[str, dict[str, Any]]  # by split
    failure: str | None
    totals: dict[str, float]  # of training: updates, target_tokens, seconds, flops; only what is known
    problems: tuple[str, ...]  # what cannot be read; each begins with the file's name

    @property
    def progress(self) -> str:
        """How far its training is."""
        if not (self.launches or self.logged or self.results):
            return "not begun"
        updates = int(self.totals.get("updates", 0))
        if self.experiment is None:
            return f"at step {updates:,}"
        training = self.experiment.training
        losses = [record for record in self.logged if number(record, "negative_log_likelihood") is not None]
        if updates >= training.num_steps or out_of_patience(losses, training.patience):
            return "trained"
        return f"at step {updates:,} of {training.num_steps:,}"

    def state(self, split: str) -> str:
        """ "scored" on the split, "failed", or its progress."""
        return "scored" if split in self.results else "failed" if self.failure is not None else self.progress

    def settings(self, split: str | None = None) -> dict[str, Any]:
        """The config's; with a split, those that its scores on it were made with, where they are others."""
        scored_with = self.results.get(split or "", {}).get("settings")
        settings = {} if self.experiment is None else resolved(self.experiment)
        for name, value in (scored_with if isinstance(scored_with, dict) else {}).items():
            settings[name] = tuple(value) if isinstance(value, list) else value  # as they were before JSON
        return settings

    def scores(self, split: str) -> dict[str, float | None]:
        """Every metric of HIGHER_IS_BETTER, None where there is no finite number."""
        entry = self.results.get(split, {})
        losses = [number(record, "negative_log_likelihood") for record in self.logged if record["kind"] == "dev"]
        return {
            "bleu": number(entry, "bleu", "value"),
            "chrf": number(entry, "chrf", "value"),
            "exact_match_percent": number(entry, "exact_match_percent"),
            "f1": number(entry, "bracketing", "f1"),
            "perplexity_per_piece": number(entry, "perplexity_per_piece"),
            "loss": losses[-1] if losses and split == "dev" else None,
        }

    def remarks(self, split: str) -> list[str]:
        """What else a reader of its scores on `split` should know."""
        remarks = [*self.problems, *([f"{self.failure}"] if self.state(split) == "failed" else [])]
        if split not in self.results:
            return remarks + ([f"scored on {', '.join(self.results)}"] if self.results else [])
        own, scored_at = self.settings(), number(self.results[split], "training", "updates")
        changes = [f"{name} = {value!r}" for name, value in self.settings(split).items()
                   if name not in PLACES and own.get(name, value) != value]  # fmt: skip
        elsewhere = {"loss"} if "bracketing" in self.results[split] else {"loss", "f1"}
        blank = [name for name, value in self.scores(split).items() if value is None and name not in elsewhere]
        remarks += [f"no {', '.join(blank)} can be read"] if blank else []
        remarks += [f"scored with {', '.join(changes)}"] if changes else []
        updates = self.totals.get("updates", 0)
        if scored_at is not None and scored_at < updates:
            remarks.append(f"scored at step {scored_at:,.0f}, trained to {updates:,.0f}")
        return remarks

    def files(self) -> list[tuple[str, int]]:
        """(name, bytes) of what lies in it; a folder's are the sum of its files'."""
        sizes = [(path, sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file()))
                 for path in sorted(self.path.iterdir())]  # fmt: skip
        return [(f"{path.name}/" if path.is_dir() else path.name, size) for path, size in sizes]


def number(values: Any, *keys: str) -> float | None:
    """`values[key][key]...` if it is there and a finite number."""
    for key in keys:
        values = values.get(key) if isinstance(values, dict) else None
    is_number = isinstance(values, (int, float)) and not isinstance(values, bool)
    return values if is_number and math.isfinite(values) else None


def same_setting(value: Any) -> Any:
    """Equal for values of a setting that mean the same: 0 and 0.0 do."""
    return float(value) if isinstance(value, (int, float)) else repr(value)


def read_runs(roots: Sequence[Path]) -> list[RunRecord]:
    """All runs in and below the folders, each once, in order of names, with numbers in names in numbers' order.

    Raises:
      RegistryError: a folder is not there, or holds no run.
    """
    found: dict[Path, Path] = {}
    for root in roots:
        if not root.is_dir():
            raise RegistryError(f"{root} is no folder")
        runs = list(_run_folders(root))
        if not runs:
            raise RegistryError(f"{root} holds no run: no folder in it has a {CONFIG}")
        for path in runs:
            found.setdefault(path.resolve(), path)
    return [read_run(path) for path in found.values()]


def _run_folders(root: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        raise error

    seen: set[str] = set()  # links are followed, but not in circles
    for folder, names, files in os.walk(root, onerror=refuse, followlinks=True):
        if CONFIG in files:
            yield Path(folder)
        if CONFIG in files or os.path.realpath(folder) in seen:
            names.clear()
        seen.add(os.path.realpath(folder))
        names.sort(key=_in_numbers_order)


def _in_numbers_order(name: str) -> list[Any]:
    return [int(part) if index % 2 else part for index, part in enumerate(re.split(r"(\d+)", name))]


def read_run(path: Path) -> RunRecord:
    """The run in the folder `path`, whatever state its files are in.

    Raises:
      RegistryError: it holds no run.
    """
    if not (path / CONFIG).is_file():
        raise RegistryError(f"{path} holds no run (it has no {CONFIG})")
    problems: list[str] = []
    experiment = None
    try:
        experiment = read_experiment(path, [], [])
    except ConfigError as error:
        said = str(error).removeprefix(f"{path}/")
        problems.append(said if CONFIG in said else f"{CONFIG}: {said}")
    logged = json_lines(path / "metrics.jsonl", ("kind", "step"), problems)
    results = json_object(path / "results.json", problems)
    entries = {split: entry for split, entry in results.items() if isinstance(entry, dict)}
    problems += [f"results.json: {split} is not a split's scores" for split in results if split not in entries]
    failure = json_object(path / FAILURE, problems).get("error", "no word on why")
    return RunRecord(
        path=path,
        experiment=experiment,
        launches=json_lines(path / "launches.jsonl", (), problems),
        logged=logged,
        results=entries,
        failure=str(failure) if (path / FAILURE).exists() else None,
        totals=_totals(path, experiment, logged, entries),
        problems=tuple(problems),
    )


def _totals(
    path: Path, experiment: Experiment | None, logged: Sequence[dict[str, Any]], entries: dict[str, dict[str, Any]]
) -> dict[str, float]:
    """What training took, as its log says or, without one, its scores."""
    if not logged:
        told = [entry["training"] for entry in entries.values() if isinstance(entry.get("training"), dict)]
        return {name: value for name in told[-1] if (value := number(told[-1], name)) is not None} if told else {}
    seconds = sum(number(record, "seconds") or 0 for record in logged)
    known = {"updates": max(record["step"] for record in logged), "seconds": seconds}
    try:
        return (training_summary(path, experiment) if experiment else {}) | known
    except (KeyError, TypeError, ValueError):  # a damaged log
        return known
