"""Scoring a run in its workdir: what `evaluate` does, and a list of runs does for each.

Apart from training, which then starts without the scorers and the statistics they import.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from experiments import workdir as workdirs
from experiments.device_memory import told_if_too_little
from experiments.parser import read_symbols
from experiments.results import add_split, summary, write_translations
from experiments.scored_rows import score_rows
from experiments.scored_trees import parses_file, read_gold, score_trees
from experiments.weights import read_weights
from transformer_jax.config import Experiment
from transformer_jax.data.corpus import Corpus
from transformer_jax.data.prepared import prepare_split
from transformer_jax.evaluation import Evaluation, evaluate
from transformer_jax.metrics.bleu import bleu_metric
from transformer_jax.metrics.significance import sentence_statistics
from transformer_jax.training.disc import told_if_full


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
