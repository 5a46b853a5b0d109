"""Training and scoring a run in its workdir: what `train` and `evaluate` do, and a list of runs does for each."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from experiments import workdir as workdirs
from experiments.checks import require_continuable, require_runnable
from experiments.determinism import make_deterministic
from experiments.device_memory import told_if_too_little
from experiments.parser import keep_inventory, read_symbols
from experiments.progress import TrainingDisplay, prepare
from experiments.provenance import launch
from experiments.results import add_split, summary, write_translations
from experiments.scored_rows import score_rows
from experiments.scored_trees import parses_file, read_gold, score_trees
from experiments.weights import read_weights
from experiments.workdir import WorkdirError
from transformer_jax import parallel
from transformer_jax.analysis.utilisation import utilisation_of
from transformer_jax.config import Experiment
from transformer_jax.data.batching import BatchPlan
from transformer_jax.data.corpus import Corpus
from transformer_jax.data.prepared import PreparedData, prepare_split
from transformer_jax.evaluation import Evaluation, evaluate
from transformer_jax.lock import taken
from transformer_jax.metrics.bleu import bleu_metric
from transformer_jax.metrics.significance import sentence_statistics
from transformer_jax.training.disc import told_if_full
from transformer_jax.training.loop import Observer, train
from transformer_jax.training.metrics_log import Record


def train_in(workdir: Path, experiment: Experiment, observer: Observer, *, accept_changes: bool = False) -> int:
    """Trains in `workdir` from where it stands; returns how many updates have been made in all.

    A display of its own says what is to be said; the observer has the records too, and says when to stop. Of several
    processes the first does so; the others are silent, and leave the workdir alone.

    Raises:
      WorkdirError: it is another experiment's, or another process trains there.
      FullDiscError, DeviceMemoryError: there is no room for what is to be written, or computed.
      UserError: of the data, the settings or the checkpoints; before the first step whatever can be known then.
    """
    if (line := make_deterministic(experiment.training)) and parallel.process_index() == 0:
        observer.say(line)
    with told_if_full(Path(experiment.data.cache_directory).expanduser()):
        data = prepare(experiment.data, experiment.cleaning, experiment.trees)
    plan = require_runnable(experiment, data)
    with told_if_full(workdir), told_if_too_little("Batching.tokens_per_device", experiment):
        if parallel.process_index() == 0:
            return _train_as_first(workdir, experiment, data, plan, observer, accept_changes=accept_changes)
        silent = Observer(lambda _: None, lambda _: None, observer.should_stop, utilisation_of(experiment))
        return train(experiment, data.splits["train"], data.splits["dev"], workdir, silent)


def _train_as_first(
    workdir: Path, experiment: Experiment, data: PreparedData, plan: BatchPlan, observer: Observer, *,
    accept_changes: bool,
) -> int:  # fmt: skip
    """`train_in` of the process that has the workdir and the display."""
    if accept_changes:
        require_continuable(workdir, experiment, data.vocabulary)
    if not (workdir / "config.gin").exists():
        workdirs.claim(workdir, experiment, accept_changes=False)
    with taken(workdir / ".training.lock") as owner:
        if owner:
            raise WorkdirError(f"{workdir}: {owner} trains there")
        changes = workdirs.claim(workdir, experiment, accept_changes=accept_changes)
        workdirs.keep_vocabulary(workdir, data.vocabulary)
        keep_inventory(workdir, data.inventory)
        if changes:  # checkpoints made anew may be of the same steps as those that these were made of
            shutil.rmtree(workdir / "averaged", ignore_errors=True)
        workdirs.note_launch(workdir, launch(experiment, data, changes))
        with TrainingDisplay(experiment.training) as display:
            for line in [*(f"overridden: {change}" for change in changes), *_description(experiment, data, plan)]:
                display.say(line)

            def record(logged: Record) -> None:
                display.record(logged)
                observer.record(logged)

            shown = Observer(record, display.say, observer.should_stop, utilisation_of(experiment))
            return train(experiment, data.splits["train"], data.splits["dev"], workdir, shown)


def _description(experiment: Experiment, data: PreparedData, plan: BatchPlan) -> list[str]:
    direction = f"{experiment.data.source_language} -> {experiment.data.target_language}"
    shapes = ", ".join(" x ".join(map(str, shape)) for shape in plan.shapes)
    removed = [f"{count:,} by Cleaning.{rule}" for rule, count in data.report.removed.items() if count]
    return [
        f"{direction}: {plan.num_pairs:,} training pairs, {data.vocabulary.size:,} pieces",
        *([f"cleaned out of {data.report.read:,} pairs: {', '.join(removed)}"] if removed else []),
        f"left out: {plan.num_empty:,} pairs with an empty side, {plan.num_too_long:,} that are too long",
        f"{plan.steps_per_epoch} updates an epoch, in batches of {shapes}",
    ]


@dataclass(frozen=True)
class Scored:
    """One split of a run, translated and scored."""

    corpus: Corpus
    evaluation: Evaluation
    paper_bleu: dict[str, Any]  # by the paper's protocol
    rows: dict[str, Any] | None  # the scores of `Scoring.test_rows`
    bracketing: dict[str, Any] | None  # those of trees; None: the split is of none
    steps: list[int]  # of the checkpoints that the weights are the mean of
    written: list[Path]


def score_in(workdir: Path, experiment: Experiment, split: str, *, trained: Path | None = None) -> Scored:
    """Translates a split, scores it, and keeps both in the workdir.

    The weights and the vocabulary are those of the run in `trained`, which is the workdir itself unless it is given.

    Raises:
      WorkdirError: nothing is trained there yet.
      UserError: of the data, the BLEU tokeniser or the checkpoints.
    """
    with told_if_full(workdir), told_if_too_little("Decoding.tokens_per_batch", experiment):
        return _score_in(workdir, experiment, split, trained or workdir)


def _score_in(workdir: Path, experiment: Experiment, split: str, source: Path) -> Scored:
    started = time.monotonic()
    bleu_metric(experiment.scoring.bleu_tokenizer)
    vocabulary = workdirs.read_vocabulary(source)
    workdirs.keep_vocabulary(workdir, vocabulary)
    corpus, encoded = prepare_split(experiment.data, experiment.trees, vocabulary, split)
    gold, symbols = read_gold(source, experiment, split), read_symbols(source, experiment, vocabulary)
    weights = read_weights(source, experiment)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"translating {split}", total=len(corpus))

        def on_progress(done: int) -> None:
            progress.update(task, completed=done)

        evaluation = evaluate(experiment, weights.params, vocabulary, corpus, encoded, on_progress, symbols)
    seconds = time.monotonic() - started
    entry = score_trees(workdir, experiment, split, gold, corpus, evaluation)
    entry |= summary(source, experiment, vocabulary, corpus, evaluation, steps=weights.steps, seconds=seconds)
    entry |= score_rows(experiment, corpus, evaluation) if split == "test" else {}
    tokens = [vocabulary.tokens(translation.hypothesis.ids) for translation in evaluation.translations]
    hypotheses = [translation.text for translation in evaluation.translations]
    statistics = sentence_statistics(hypotheses, corpus.targets, tokenizer=experiment.scoring.bleu_tokenizer)
    written = [
        write_translations(workdir, split, evaluation, tokens, statistics),
        *([parses_file(workdir, split)] if gold else []),
        add_split(workdir, split, entry),
    ]
    apart = entry["paper_bleu"], entry.get("rows"), entry.get("bracketing")
    return Scored(corpus, evaluation, *apart, weights.steps, written)
