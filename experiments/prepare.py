"""Reads or downloads the data of an experiment, learns the vocabulary, encodes, and says what there is.

python -m experiments.prepare --gin_file=gin_configs/quickstart.gin
"""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from experiments import command, workdir
from experiments.checks import require_runnable
from experiments.gin_bindings import load_experiment
from transformer_jax.data.prepared import PreparedData, prepare_data


def main() -> None:
    flags = command.parser(__doc__, gin_file_required=True)
    flags.add_argument("--workdir", type=Path, help="begin the run there: its config and vocabulary")
    args = flags.parse_args()
    experiment = load_experiment(args.gin_file, args.gin_param)
    console = Console(soft_wrap=True, highlight=False)
    with console.status("reading, learning the vocabulary, encoding"):
        data = prepare_data(experiment.data)
        plan = require_runnable(experiment, data)
    if args.workdir:
        workdir.claim(args.workdir, experiment, accept_changes=False)
        workdir.keep_vocabulary(args.workdir, data.vocabulary)
    console.print(_table(data))
    direction = f"{experiment.data.source_language} -> {experiment.data.target_language}"
    console.print(f"{direction}, {data.vocabulary.size:,} pieces, encoded in {experiment.data.cache_directory}")
    console.print(f"training uses {plan.num_pairs:,} pairs: {plan.num_empty:,} have an empty side and ", end="")
    console.print(f"{plan.num_too_long:,} more than {experiment.data.max_train_length} tokens")
    shapes = ", ".join(f"{rows} x {length}" for rows, length in plan.shapes)
    console.print(f"{plan.steps_per_epoch:,} updates an epoch, in batches of {shapes}")


def _table(data: PreparedData) -> Table:
    table = Table("split", "pairs", "source tokens", "target tokens", "longest", "read from")
    for split, encoded in data.splits.items():
        sides = encoded.source_lengths, encoded.target_lengths
        counts = [f"{lengths.sum():,}" for lengths in sides]
        longest = f"{max(lengths.max() for lengths in sides):,}"
        table.add_row(split, f"{len(encoded):,}", *counts, longest, data.corpora[split].name)
    return table


if __name__ == "__main__":
    command.run(main)
