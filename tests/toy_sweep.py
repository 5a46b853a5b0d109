"""A sweep whose runs take no time: what they would learn is worked out from their settings."""

import json
from pathlib import Path

import pytest

from experiments import run_list
from experiments.gin_bindings import resolved
from experiments.study.definition import Definition, load_definition
from experiments.study.trials import Trials
from experiments.workdir import claim
from transformer_jax.training.loop import Observer

GIN_CONFIGS = Path(__file__).resolve().parents[1] / "gin_configs"
FILES = [str(GIN_CONFIGS / "base.gin"), str(GIN_CONFIGS / "sweeps" / "sweep.gin")]
SETTINGS = [
    "Training.num_steps = 40",
    "Training.evaluate_every_steps = 10",
    "Sweep.trials = 6",
    'Sweep.pruner = "none"',
    'sweep/Model.dropout_rate = ("uniform", 0.0, 0.4)',
    'sweep/Optimizer.warmup_steps = ("log_integer", 10, 1000)',
]


def definition(*more: str) -> Definition:
    return load_definition(FILES, [*SETTINGS, *more])


def trials(workdir: Path, *more: str, storage: str | None = None) -> Trials:
    return Trials(workdir, storage, definition(*more))


def observer(said: list[str] | None = None) -> Observer:
    return Observer(lambda _: None, (said if said is not None else []).append, lambda: False)


class Machine:
    """Stands for training and scoring. BLEU is 30 less 100 times the dropout, and less a tenth of the seed."""

    def __init__(self) -> None:
        self.trained: list[str] = []  # "trial_0000/seed_1", each time that it is begun or gone on with
        self.scored: list[tuple[str, Path | None]] = []
        self.fails_at: dict[str, BaseException] = {}  # a run -> what is raised at its step 20, once

    def install(self, patch: pytest.MonkeyPatch) -> "Machine":
        patch.setattr(run_list, "train_in", self.train)
        patch.setattr(run_list, "score_in", self.score)
        return self

    def train(self, folder: Path, experiment, observer: Observer) -> None:
        claim(folder, experiment, accept_changes=False)
        name = f"{folder.parent.name}/{folder.name}"
        self.trained.append(name)
        for step in range(10, experiment.training.num_steps + 1, 10):
            if observer.should_stop():
                return
            if step == 20 and name in self.fails_at:
                raise self.fails_at.pop(name)
            loss = 5.0 + experiment.model.dropout_rate - step / 100
            observer.record({"kind": "dev", "step": step, "negative_log_likelihood": loss})

    def score(self, folder: Path, experiment, split: str, *, trained: Path | None) -> None:
        self.scored.append((f"{folder.parent.name}/{folder.name}", trained))
        bleu = 30 - 100 * experiment.model.dropout_rate - experiment.training.seed / 10
        bleu += experiment.decoding.beam_size - 4
        entry = {"settings": resolved(experiment), "bleu": {"value": bleu}, "perplexity_per_piece": 100 - bleu}
        (folder / "results.json").write_text(json.dumps({split: entry}))
