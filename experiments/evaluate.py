"""Scores a run on one split: perplexity, BLEU two ways, chrF, exact match -> results.json; trees by brackets.

BLEU is sacreBLEU's, with its signature, and that of the paper's protocol, which is no number to compare it with.

Also tells what the search did: translations cut off, references that score higher, lengths beside the references'.

python -m experiments.evaluate --workdir=runs/quickstart --split=test
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from experiments import command
from experiments.scored_trees import bracketing_lines
from experiments.scoring import Scored, score_in
from experiments.workdir import read_experiment
from transformer_jax.data.prepared import SPLITS
from transformer_jax.evaluation import Evaluation


def main() -> None:
    flags = command.parser(__doc__, gin_file_required=False)
    flags.add_argument("--workdir", type=Path, required=True)
    flags.add_argument("--split", choices=SPLITS, default="test")
    flags.add_argument("--show", type=int, default=5, help="how many translations to show beside their references")
    args = flags.parse_args()
    experiment = read_experiment(args.workdir, args.gin_file, args.gin_param)
    scored = score_in(args.workdir, experiment, args.split)
    _show(Console(soft_wrap=True, highlight=False, markup=False), scored, args.show)
    print(f"written: {', '.join(map(str, scored.written))}")


def _show(console: Console, scored: Scored, count: int) -> None:
    corpus, evaluation = scored.corpus, scored.evaluation
    every = max(len(corpus) // max(count, 1), 1)
    for i in range(0, every * min(count, len(corpus)), every):
        console.print(f"source:      {corpus.sources[i]}")
        console.print(f"translation: {evaluation.translations[i].text}")
        console.print(f"reference:   {corpus.targets[i]}\n")
    console.print(f"{len(corpus):,} sentences of {corpus.name}")
    console.print(f"weights: mean of the checkpoints of steps {', '.join(map(str, scored.steps))}")
    for line in bracketing_lines(scored.bracketing) if scored.bracketing else []:
        console.print(line)
    console.print(f"perplexity {evaluation.perplexity:.3f} per piece")
    for score in () if scored.bracketing else (evaluation.bleu, evaluation.chrf):  # of trees they mean nothing
        console.print(f"{score.name} {score.value:.2f} {score.detail} [{score.signature}]")
    if not scored.bracketing:
        _print_paper_bleu(console, scored.paper_bleu, evaluation.bleu.value)
    if scored.rows:
        bleu = scored.rows["bleu"]
        console.print(f"{scored.rows['sentences']:,} of them, {scored.rows['file']}: ", end="")
        console.print(f"{bleu['name']} {bleu['value']:.2f} {bleu['detail']} [{bleu['signature']}]")
        _print_paper_bleu(console, scored.rows["paper_bleu"], bleu["value"])
    console.print(f"exact match {evaluation.exact_match:.1f} %")
    for line in _search_lines(evaluation):
        console.print(line)
    for warning in [] if scored.bracketing else evaluation.warnings:
        console.print(f"WARNING: {warning}", style="bold red")


def _print_paper_bleu(console: Console, paper_bleu: dict[str, Any], sacrebleu: float) -> None:
    console.print(f"{paper_bleu['name']} {paper_bleu['value']:.2f} {paper_bleu['detail']}: ", end="")
    console.print(f"{paper_bleu['value'] - sacrebleu:+.2f} from sacreBLEU's [{paper_bleu['signature']}]")


def _search_lines(evaluation: Evaluation) -> Iterator[str]:
    """What the search tells about itself."""
    if evaluation.cut_off:
        yield f"{evaluation.cut_off} translations were cut off at the length limit"
    yield f"{evaluation.search.errors} references have a higher score than the translation that was found"
    if evaluation.search.length_ratio is not None:
        yield f"length {evaluation.search.length_ratio:.3f} of the references', in pieces; by pieces of the source:"
    for group in evaluation.search.length_ratios:
        pieces = f"{group.low} and more" if group.high is None else f"{group.low}-{group.high}"
        ratio = "no reference" if group.ratio is None else f"{group.ratio:.3f}"
        yield f"  {pieces:>10}: {ratio} ({group.sentences:,} sentence{'s' * (group.sentences != 1)})"


if __name__ == "__main__":
    command.run(main)
