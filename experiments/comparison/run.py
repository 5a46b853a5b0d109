"""A run as a comparison has it. What is missing yet is no error; what is damaged ends the comparison."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.registry import records
from experiments.registry.records import RunRecord
from experiments.workdir import read_vocabulary
from transformer_jax.data.prepared import SPLITS
from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.errors import UserError

_FIELDS = {"perplexity_per_piece", "bleu", "chrf", "exact_match_percent", "cut_off_at_the_length_limit", "warnings"}
_FIELDS |= {"sentences", "corpus", "corpus_sha256", "checkpoint_steps", "settings"}
_LOGGED = {"train": ("loss", "seconds", "target_tokens_per_update"), "dev": ("perplexity",)}


class ComparisonError(UserError):
    """Runs, or settings of a comparison, that allow none: the message says which and why."""


@dataclass(frozen=True)
class ComparedRun:
    """A run as it stands, and its translations of one split, if it has some."""

    label: str  # "A" or "B"
    split: str
    record: RunRecord  # nothing in it is damaged
    translations: list[str] | None

    @property
    def workdir(self) -> Path:
        return self.record.path

    @property
    def entry(self) -> dict[str, Any] | None:
        """The scores on the split."""
        return self.record.results.get(self.split)

    @property
    def settings(self) -> dict[str, Any]:
        """Those that its scores were made with: bindings on `evaluate` may have changed some of its config's."""
        return self.record.settings(self.split)

    @property
    def vocabulary(self) -> Vocabulary | None:
        """None before training began."""
        return read_vocabulary(self.workdir) if (self.workdir / "vocabulary.model").exists() else None

    @property
    def missing(self) -> list[str]:
        """A line for each thing that is not there yet."""
        evaluate = f"python -m experiments.evaluate --workdir={self.workdir} --split={self.split}"
        if self.entry is None:
            scored = f"has not been scored on {self.split} yet: {evaluate}"
            return [f"{self.label} {scored if self.record.logged else 'has not logged an update yet'}"]
        lines = [] if self.record.logged else [f"{self.label} has no log: what it says of training is from its scores"]
        return lines + ([f"{self.label} has no translations of {self.split}: {evaluate}"] * (self.translations is None))


def require_split(split: str) -> None:
    """Raises ComparisonError for a split that there is not."""
    if split not in SPLITS:
        raise ComparisonError(f"--split={split}: must be one of {', '.join(SPLITS)}")


def read_run(label: str, workdir: Path, split: str) -> ComparedRun:
    """Reads what is there.

    Raises:
      RegistryError: it is not a run's folder.
      ComparisonError: a file in it is not a run's, or its config is of another version of the code.
    """
    record = records.read_run(workdir)
    problems = [*record.problems, *_lacking(record, split)]
    if problems:
        raise ComparisonError(f"{workdir}/{problems[0]}")
    return ComparedRun(label, split, record, _read_translations(record, split))


def _lacking(record: RunRecord, split: str) -> list[str]:
    """What the registry can do without and a comparison cannot."""
    lacking = []
    needed = [(each, name) for each in record.logged for name in _LOGGED.get(str(each["kind"]), ())]
    if not all(isinstance(each.get(name), (int, float)) for each, name in needed):
        lacking.append("metrics.jsonl is not a run's log: a record lacks what all have")
    if split in record.results and (absent := sorted(_FIELDS - record.results[split].keys())):
        lacking.append(f"results.json lacks {', '.join(absent)} of {split}: evaluate the run again")
    return lacking


def _read_translations(record: RunRecord, split: str) -> list[str] | None:
    """Lines end at "\\n" and nowhere else, as in a corpus."""
    path = record.path / f"translations.{split}.txt"
    if split not in record.results or not path.exists():
        return None
    try:
        lines = path.read_bytes().decode("utf-8").split("\n")[:-1]
    except UnicodeDecodeError as error:
        raise ComparisonError(f"{path} is not UTF-8: evaluate the run again") from error
    sentences = record.results[split]["sentences"]
    if len(lines) != sentences:
        raise ComparisonError(f"{path} has {len(lines)} lines for {sentences} sentences: evaluate the run again")
    return lines
