"""What a comparison reads of a run's folder. Nothing is written there, and what is missing yet is no error."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.gin_bindings import resolved
from experiments.workdir import WorkdirError, read_experiment, read_vocabulary
from transformer_jax.config import Experiment
from transformer_jax.data.prepared import SPLITS
from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.errors import UserError
from transformer_jax.training.metrics_log import Record, read_metrics

_FIELDS = {"perplexity_per_piece", "bleu", "chrf", "exact_match_percent", "cut_off_at_the_length_limit", "warnings"}
_FIELDS |= {"sentences", "corpus", "corpus_sha256", "checkpoint_steps", "settings"}
_LOGGED = {"train": {"step", "loss", "seconds", "target_tokens_per_update"}, "dev": {"step", "perplexity"}}


class ComparisonError(UserError):
    """Runs, or settings of a comparison, that allow none: the message says which and why."""


@dataclass(frozen=True)
class ComparedRun:
    """A run as it stands, and what it scored on one split, if it did."""

    label: str  # "A" or "B"
    workdir: Path
    split: str
    experiment: Experiment
    log: list[Record]
    launches: list[dict[str, Any]]
    failure: str | None
    entry: dict[str, Any] | None  # the split's in `results.json`
    translations: list[str] | None

    @property
    def settings(self) -> dict[str, Any]:
        """Those of its config."""
        return resolved(self.experiment)

    @property
    def settings_scored(self) -> dict[str, Any]:
        """Those that its scores were made with: bindings on `evaluate` may have changed some. {} without scores."""
        told = self.entry["settings"] if self.entry else {}
        return {name: tuple(value) if isinstance(value, list) else value for name, value in told.items()}

    @property
    def vocabulary(self) -> Vocabulary | None:
        """None before training began."""
        return read_vocabulary(self.workdir) if (self.workdir / "vocabulary.model").exists() else None

    @property
    def missing(self) -> list[str]:
        """A line for each thing that is not there yet."""
        evaluate = f"python -m experiments.evaluate --workdir={self.workdir} --split={self.split}"
        if not self.log:
            return [f"{self.label} has not logged an update yet"]
        if self.entry is None:
            return [f"{self.label} has not been scored on {self.split} yet: {evaluate}"]
        if self.translations is None:
            return [f"{self.label} has no translations of {self.split}: {evaluate}"]
        return []


def require_split(split: str) -> None:
    """Raises ComparisonError for a split that there is not."""
    if split not in SPLITS:
        raise ComparisonError(f"--split={split}: must be one of {', '.join(SPLITS)}")


def read_run(label: str, workdir: Path, split: str) -> ComparedRun:
    """Reads what is there.

    Raises:
      WorkdirError: it is not a run's folder, or a file in it is not a run's.
      ConfigError: its config is of another version of the code.
    """
    experiment = read_experiment(workdir, [], [])
    log = _read_log(workdir / "metrics.jsonl")
    entry = _read_entry(workdir / "results.json", split)
    translations = _read_translations(workdir / f"translations.{split}.txt", entry)
    launches = list(_read_lines(workdir / "launches.jsonl"))
    return ComparedRun(label, workdir, split, experiment, log, launches, _read_failure(workdir), entry, translations)


def _read_log(path: Path) -> list[Record]:
    try:
        records = read_metrics(path)
        if all(_LOGGED[record["kind"]] <= record.keys() for record in records):
            return records
    except (UnicodeDecodeError, KeyError, TypeError, AttributeError) as error:
        raise WorkdirError(f"{path} is not a run's log") from error
    raise WorkdirError(f"{path} is not a run's log: a record lacks what all have")


def _read_entry(path: Path, split: str) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        entry = json.loads(path.read_text(encoding="utf-8")).get(split)
        absent = sorted(_FIELDS - entry.keys()) if entry is not None else []
    except (ValueError, AttributeError) as error:
        raise WorkdirError(f"{path} is not a run's results") from error
    if absent:
        raise WorkdirError(f"{path} lacks {', '.join(absent)} of {split}: evaluate the run again")
    return entry


def _read_translations(path: Path, entry: dict[str, Any] | None) -> list[str] | None:
    """Lines end at "\\n" and nowhere else, as in a corpus."""
    if entry is None or not path.exists():
        return None
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")[:-1]
    except UnicodeDecodeError as error:
        raise WorkdirError(f"{path} is not UTF-8: evaluate the run again") from error
    if len(lines) != entry["sentences"]:
        raise WorkdirError(f"{path} has {len(lines)} lines for {entry['sentences']} sentences: evaluate the run again")
    return lines


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """A line that a kill cut short is left out."""
    for line in path.read_text(encoding="utf-8").split("\n") if path.exists() else []:
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue


def _read_failure(workdir: Path) -> str | None:
    """Why a list of runs gave it up."""
    path = workdir / "failure.json"
    if not path.exists():
        return None
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["error"])
    except (ValueError, KeyError, TypeError) as error:
        raise WorkdirError(f"{path} is not a run's note of its failure") from error
