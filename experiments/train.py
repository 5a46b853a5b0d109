"""Trains an experiment in a workdir; the same command again goes on where it stopped.

python -m experiments.train --gin_file=gin_configs/quickstart.gin --workdir=runs/quickstart

On several machines, or in several processes on one, the same command is started in each, with a number of its own:

... --coordinator=first-machine:4321 --num_processes=2 --process_id=0
"""

from contextlib import nullcontext
from pathlib import Path

from experiments import command
from experiments.determinism import make_deterministic
from experiments.gin_bindings import load_experiment
from experiments.profiling import traced
from experiments.training import train_in
from transformer_jax import parallel


def main() -> None:
    flags = command.parser(__doc__, gin_file_required=True)
    flags.add_argument("--workdir", type=Path, required=True)
    flags.add_argument(
        "--accept_changes", action="store_true", help="go on with settings other than the run began with"
    )
    flags.add_argument("--profile", type=int, metavar="N", help="trace N updates, into WORKDIR/profile")
    command.add_process_flags(flags)
    args = flags.parse_args()
    if args.profile is not None and args.profile < 1:
        flags.error(f"--profile={args.profile}: must be at least 1")
    join = command.joining(flags, args)
    experiment = load_experiment(args.gin_file, args.gin_param)
    make_deterministic(experiment.training)
    join()
    watching = command.observer()
    profiled = traced(watching, args.workdir / "profile", args.profile) if args.profile else nullcontext(watching)
    with profiled as observer:
        train_in(args.workdir, experiment, observer, accept_changes=args.accept_changes)
    parallel.finish()


if __name__ == "__main__":
    command.run(main)
