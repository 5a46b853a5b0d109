"""Sweeps hyperparameters: trials of settings drawn from distributions, each trained, pruned early or scored.

python -m experiments.sweep --gin_file=gin_configs/sweeps/builtin.gin --workdir=runs/sweep
python -m experiments.sweep --gin_file=gin_configs/sweeps/decoding.gin --workdir=runs/sweep_decoding

The same command again goes on where it was stopped or killed; with a larger --trials it adds trials. Started several
times, here or on machines that share the file system, its processes take trials from one study. The workdir gets
leaderboard.md, trials.csv, best.gin and pictures (HTML and PNG); each trial's folder holds runs as any others.
"""

from argparse import Namespace
from pathlib import Path

from experiments import command
from experiments.gin_bindings import build
from experiments.launchers.launch import add_flags, launch
from experiments.progress import prepare
from experiments.study.definition import Definition, load_definition
from experiments.study.leaderboard import require_not_all_failed, write_report
from experiments.study.storage import IDENTITY, require_own
from experiments.study.trials import Trials
from experiments.workdir import WorkdirError
from transformer_jax.config import Cleaning, Data, Trees


def main() -> None:
    flags = command.parser(__doc__, gin_file_required=True)
    flags.add_argument("--workdir", type=Path, required=True)
    flags.add_argument("--trials", type=int, help="how many in all, in place of Sweep.trials")
    flags.add_argument(
        "--storage",
        help="the URL of the study's database, such as postgresql+psycopg://user@host/name; else it is in the workdir",
    )
    flags.add_argument("--report_only", action="store_true", help="report on the trials that are there; run nothing")
    add_flags(flags)
    args = flags.parse_args()
    trials = Trials(args.workdir, args.storage, _definition(args))
    require_own(trials.workdir, trials.definition)
    if args.report_only and not (trials.workdir / IDENTITY).exists():
        raise WorkdirError(f"{trials.workdir} holds no sweep (it has no {IDENTITY}): there is nothing to report")
    if not args.report_only:
        if trials.definition.sweep.trained is None:  # what is wrong with the data is wrong for all: said once, at once
            bindings = trials.definition.bindings
            prepare(build(Data, bindings), build(Cleaning, bindings), build(Trees, bindings))
        launch(args, trials, command.observer())
    print(write_report(trials))
    require_not_all_failed(trials)


def _definition(args: Namespace) -> Definition:
    more = [] if args.trials is None else [f"Sweep.trials = {args.trials}"]
    return load_definition(args.gin_file, [*args.gin_param, *more])


if __name__ == "__main__":
    command.run(main)
