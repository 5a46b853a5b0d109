"""Trains an experiment twice, once killed and resumed: ends with code 1 if batches, parameters or optimizer differ.

python -m experiments.verify_resume --gin_file=gin_configs/quickstart.gin --workdir=runs/verify --steps=20 --kills=2
"""

import os
import signal
import sys
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from experiments import command
from experiments.gin_bindings import load_experiment
from experiments.resumption import different, kill_after, new_folders, settings
from experiments.training import train_in
from transformer_jax.config import Experiment
from transformer_jax.training.metrics_log import Record
from transformer_jax.training.observer import Observer


def main() -> None:
    flags = command.parser(__doc__, gin_file_required=True)
    flags.add_argument("--workdir", type=Path, required=True, help="for both runs")
    flags.add_argument("--steps", type=int, default=20)
    flags.add_argument("--kills", type=int, default=2)
    args = flags.parse_args()
    if not 0 < args.kills < args.steps:
        flags.error(f"--kills={args.kills}: must be from 1 to --steps - 1")
    experiment = load_experiment(args.gin_file, [*args.gin_param, *settings(args.steps, args.kills)])
    undisturbed, killed = new_folders(args.workdir, "undisturbed", "killed")
    moments = kill_after(args.steps, args.kills, seed=experiment.training.seed)
    for workdir, last in [(undisturbed, None), *((killed, moment) for moment in [*moments, None])]:
        _live(workdir, experiment, last)
    found = different(undisturbed, killed)
    print(f"{args.steps} steps, and {args.steps} steps killed after {', '.join(map(str, moments))}:")
    print("\n".join(found) if found else "batches, parameters and optimizer state are the same, bit for bit")
    sys.exit(1 if found else 0)


def _live(workdir: Path, experiment: Experiment, last: int | None) -> None:
    """Trains in a process of its own, which dies after the step `last`."""
    body = partial(_train, workdir, experiment, last)
    process = get_context("spawn").Process(target=command.run, args=(body,))
    process.start()
    process.join()
    if process.exitcode != (0 if last is None else -signal.SIGKILL):
        sys.exit(1)  # it has said why


def _train(workdir: Path, experiment: Experiment, last: int | None) -> None:
    def record(logged: Record) -> None:
        if logged["step"] == last:
            os.kill(os.getpid(), signal.SIGKILL)

    train_in(workdir, experiment, Observer(record, lambda _: None, lambda: False))


if __name__ == "__main__":
    command.run(main)
