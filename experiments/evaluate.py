"""Scores a run on one split: perplexity, BLEU with its signature, chrF, exact match -> results.json.

python -m experiments.evaluate --workdir=runs/quickstart --split=test
"""

import time
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from experiments import command
from experiments.results import add_split, summary, write_translations
from experiments.weights import read_weights
from experiments.workdir import read_experiment, read_vocabulary
from transformer_jax.data.corpus import Corpus
from transformer_jax.data.prepared import SPLITS, prepare_split
from transformer_jax.evaluation import Evaluation, evaluate
from transformer_jax.metrics.bleu import bleu_metric


def main() -> None:
    flags = command.parser(__doc__, gin_file_required=False)
    flags.add_argument("--workdir", type=Path, required=True)
    flags.add_argument("--split", choices=SPLITS, default="test")
    flags.add_argument("--show", type=int, default=5, help="how many translations to show beside their references")
    args = flags.parse_args()
    started = time.monotonic()
    experiment = read_experiment(args.workdir, args.gin_file, args.gin_param)
    bleu_metric(experiment.scoring.bleu_tokenizer)
    vocabulary = read_vocabulary(args.workdir)
    corpus, encoded = prepare_split(experiment.data, vocabulary, args.split)
    weights = read_weights(args.workdir, experiment)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"translating {args.split}", total=len(corpus))
        evaluation = evaluate(
            experiment,
            weights.params,
            vocabulary,
            corpus,
            encoded,
            on_progress=lambda done: progress.update(task, completed=done),
        )
    seconds = time.monotonic() - started
    entry = summary(experiment, corpus, evaluation, steps=weights.steps, seconds=seconds)
    tokens = [vocabulary.tokens(translation.hypothesis.ids) for translation in evaluation.translations]
    written = [
        write_translations(args.workdir, args.split, evaluation, tokens),
        add_split(args.workdir, args.split, entry),
    ]
    _show(Console(soft_wrap=True, highlight=False, markup=False), corpus, evaluation, weights.steps, args.show)
    print(f"written: {', '.join(map(str, written))}")


def _show(console: Console, corpus: Corpus, evaluation: Evaluation, steps: list[int], count: int) -> None:
    every = max(len(corpus) // max(count, 1), 1)
    for i in range(0, every * min(count, len(corpus)), every):
        console.print(f"source:      {corpus.sources[i]}")
        console.print(f"translation: {evaluation.translations[i].text}")
        console.print(f"reference:   {corpus.targets[i]}\n")
    console.print(f"{len(corpus):,} sentences of {corpus.name}")
    console.print(f"weights: mean of the checkpoints of steps {', '.join(map(str, steps))}")
    console.print(f"perplexity {evaluation.perplexity:.3f} per piece")
    for score in (evaluation.bleu, evaluation.chrf):
        console.print(f"{score.name} {score.value:.2f} {score.detail} [{score.signature}]")
    console.print(f"exact match {evaluation.exact_match:.1f} %")
    if evaluation.cut_off:
        console.print(f"{evaluation.cut_off} translations were cut off at the length limit")
    for warning in evaluation.warnings:
        console.print(f"WARNING: {warning}", style="bold red")


if __name__ == "__main__":
    command.run(main)
