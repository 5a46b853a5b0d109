"""Trains an experiment in a workdir; the same command again goes on where it stopped.

python -m experiments.train --gin_file=gin_configs/quickstart.gin --workdir=runs/quickstart
"""

from pathlib import Path

from experiments import command
from experiments.execution import train_in
from experiments.gin_bindings import load_experiment


def main() -> None:
    flags = command.parser(__doc__, gin_file_required=True)
    flags.add_argument("--workdir", type=Path, required=True)
    flags.add_argument(
        "--accept_changes", action="store_true", help="go on with settings other than the run began with"
    )
    args = flags.parse_args()
    experiment = load_experiment(args.gin_file, args.gin_param)
    train_in(args.workdir, experiment, command.observer(), accept_changes=args.accept_changes)


if __name__ == "__main__":
    command.run(main)
