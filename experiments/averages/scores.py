"""Scores of averages of a run's checkpoints, kept in its `averaging.json` as they come."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from experiments.averages.chosen import Average
from experiments.gin_bindings import resolved
from experiments.provenance import provenance
from experiments.results import paper_bleu_entry
from experiments.weights import param_shapes
from experiments.workdir import WorkdirError, read_vocabulary, write_text
from transformer_jax.config import Experiment
from transformer_jax.data.prepared import prepare_split
from transformer_jax.data.tree_pairs import is_of_trees
from transformer_jax.evaluation import evaluate
from transformer_jax.training.checkpoint import Checkpoints

FILE = "averaging.json"
Entry = dict[str, Any]


def checkpoint_steps(workdir: Path, experiment: Experiment) -> list[int]:
    """Ascending; raises WorkdirError if there is none."""
    folder = workdir / "checkpoints"
    steps = Checkpoints(folder, keep=experiment.training.keep_checkpoints).steps if folder.is_dir() else []
    if not steps:
        raise WorkdirError(f"{workdir} holds no checkpoint: train there first")
    return steps


class Kept:
    """What is scored; seen is what is of the run's checkpoints and settings as they are.

    Raises:
      WorkdirError: the file holds something else.
    """

    def __init__(self, workdir: Path, experiment: Experiment, steps: Sequence[int]):
        self._path, self._steps = workdir / FILE, steps
        self._settings = json.loads(json.dumps(resolved(experiment)))
        try:
            text = self._path.read_text(encoding="utf-8") if self._path.exists() else "{}"
            self._entries: dict[str, list[Entry]] = json.loads(text)
            self.splits()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise WorkdirError(f"{self._path} is no list of averages: move it away and score them again") from error

    def splits(self) -> list[str]:
        """Those of which anything is seen."""
        return [split for split, _ in self._entries.items() if self.of(split)]

    def of(self, split: str) -> dict[Average, Entry]:
        """In order of counts."""
        seen = {
            average: entry
            for entry in self._entries.get(split, [])
            if (average := Average(entry["count"], entry["spacing"])).of(self._steps) == entry["steps"]
            and entry["settings"] == self._settings
        }
        return {average: seen[average] for average in sorted(seen)}

    def add(self, split: str, average: Average, scores: Entry) -> None:
        """Keeps it at once: a study that is stopped goes on from there."""
        entry = {**dataclasses.asdict(average), **scores, "settings": self._settings, **provenance()}
        self._entries.setdefault(split, []).append(entry)
        write_text(self._path, json.dumps(self._entries, indent=2, ensure_ascii=False) + "\n")


class Scorer:
    """Translates a split with averages of a run's checkpoints; nothing of the run is written.

    Raises:
      WorkdirError: it is a run of trees, of which BLEU means nothing.
      CorpusError: the split cannot be read.
    """

    def __init__(self, workdir: Path, experiment: Experiment, split: str):
        if is_of_trees(getattr(experiment.data, split)):
            raise WorkdirError(f"{workdir} is a run of trees: BLEU by averages is of translations")
        self._workdir, self._experiment = workdir, experiment
        self._vocabulary = read_vocabulary(workdir)
        self._corpus, self._encoded = prepare_split(experiment.data, experiment.trees, self._vocabulary, split)

    @property
    def sentences(self) -> int:
        return len(self._corpus)

    def __call__(self, average: Average, on_progress: Callable[[int], None]) -> Entry:
        """Of the mean of these checkpoints, with their steps; `on_progress` is told how many sentences are translated.

        Raises:
          CheckpointError: one of them is damaged.
        """
        checkpoints = Checkpoints(self._workdir / "checkpoints", keep=self._experiment.training.keep_checkpoints)
        params, steps = checkpoints.average(average.count, param_shapes(self._experiment), spacing=average.spacing)
        found = evaluate(self._experiment, params, self._vocabulary, self._corpus, self._encoded, on_progress)
        hypotheses = [translation.text for translation in found.translations]
        return {
            "steps": steps,
            "bleu": dataclasses.asdict(found.bleu),
            **paper_bleu_entry(self._experiment, hypotheses, self._corpus.targets),
            "perplexity_per_piece": found.perplexity,
            "sentences": len(self._corpus),
            "corpus": self._corpus.name,
            "corpus_sha256": self._corpus.fingerprint,
        }
