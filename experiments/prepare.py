"""Reads or downloads the data of an experiment, cleans it, learns the vocabulary, encodes, and says what there is.

python -m experiments.prepare --gin_file=gin_configs/quickstart.gin

The same command again goes on where it was stopped or killed; what is prepared already is checked.
"""

from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from experiments import command, workdir
from experiments.checks import require_runnable
from experiments.gin_bindings import load_experiment
from experiments.parser import keep_inventory
from experiments.progress import prepare
from transformer_jax.config import Experiment, corpus_parts
from transformer_jax.data.batching import BatchPlan
from transformer_jax.data.prepared import PreparedData


def main() -> None:
    flags = command.parser(__doc__, gin_file_required=True)
    flags.add_argument("--workdir", type=Path, help="begin the run there: its config and vocabulary")
    args = flags.parse_args()
    experiment = load_experiment(args.gin_file, args.gin_param)
    data = prepare(experiment.data, experiment.cleaning, experiment.trees)
    plan = require_runnable(experiment, data)
    if args.workdir:
        workdir.claim(args.workdir, experiment, accept_changes=False)
        workdir.keep_vocabulary(args.workdir, data.vocabulary)
        keep_inventory(args.workdir, data.inventory)
    console = Console(soft_wrap=True, highlight=False, markup=False)
    console.print(_splits(data))
    for line in [
        *map(partial(_read_from, experiment), data.splits),
        *_trees(data),
        *_cleaned(data),
        *_batches(experiment, data, plan),
    ]:
        console.print(line)


def _splits(data: PreparedData) -> Table:
    table = Table("split", "pairs", "source tokens", "target tokens", "longest")
    for split, encoded in data.splits.items():
        sides = encoded.source_lengths, encoded.target_lengths
        counts = [f"{lengths.sum():,}" for lengths in sides]
        longest = f"{max(lengths.max() for lengths in sides):,}"
        table.add_row(split, f"{len(encoded):,}", *counts, longest)
    return table


def _read_from(experiment: Experiment, split: str) -> str:
    first, *others = (" and ".join(part) for part in corpus_parts(getattr(experiment.data, split)))
    return f"from {first}{f' and {len(others)} more' if others else ''} ({split})"


def _trees(data: PreparedData) -> list[str]:
    """What became of the training trees."""
    if (found := data.inventory) is None:
        return []
    changes = ", ".join(f"{count:,} {change}" for change, count in found.changes.items())
    return [
        f"training trees: {found.trees:,} read, {found.left_out:,} left out as nothing but traces",
        *([f"  cleaned of {changes}"] if changes else []),
    ]


def _cleaned(data: PreparedData) -> list[str]:
    """Every pair that was read, accounted for."""
    removed = [f"{count:,} by Cleaning.{rule}" for rule, count in data.report.removed.items()]
    return [
        f"training text: {data.report.read:,} pairs read, {data.report.kept:,} kept",
        *(f"  left out {line}" for line in removed),
    ]


def _batches(experiment: Experiment, data: PreparedData, plan: BatchPlan) -> list[str]:
    settings = experiment.data
    shapes = ", ".join(" x ".join(map(str, shape)) for shape in plan.shapes)
    return [
        f"{settings.source_language} -> {settings.target_language}, {data.vocabulary.size:,} pieces, "
        f"encoded in {settings.cache_directory}",
        f"training uses {plan.num_pairs:,} pairs: {plan.num_empty:,} have an empty side and "
        f"{plan.num_too_long:,} more than {settings.max_train_length} tokens",
        f"{plan.steps_per_epoch:,} updates an epoch, in batches of {shapes}",
    ]


if __name__ == "__main__":
    command.run(main)
