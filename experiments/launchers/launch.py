"""Where a list of runs is worked: in this process, on a Ray cluster, or by a Slurm job array."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from experiments import command
from experiments.launchers import ray_cluster, slurm
from experiments.launchers.work import Need, Work
from transformer_jax.training.loop import Observer


def add_flags(flags: argparse.ArgumentParser) -> None:
    """The flags that `launch` reads; it reads `--workdir` too."""
    flags.add_argument("--launcher", choices=("local", "ray", "slurm"), default="local", help="who works the list")
    flags.add_argument("--max_runs", type=_at_least(1), help="begin at most so many runs, then end")
    flags.add_argument("--cpus_per_run", type=_at_least(1), default=1, help="for ray and slurm")
    flags.add_argument("--gpus_per_run", type=_at_least(0), default=0, help="for ray and slurm")
    flags.add_argument("--ray_address", help="of a cluster; else RAY_ADDRESS, one on this machine, or a new one")
    flags.add_argument(
        "--slurm_option",
        action="append",
        default=[],
        type=slurm.option,
        help="as in --slurm_option='--partition=gpu'; may be repeated",
    )


def launch(args: argparse.Namespace, work: Work, observer: Observer) -> None:
    """Works the list, or, for Slurm, writes the script that does.

    Raises:
      UserError: the launcher cannot be used; or whatever `work` raises.
    """
    if args.launcher == "local":
        work.work(at_most=args.max_runs, observer=observer)
        return
    need = Need(args.cpus_per_run, args.gpus_per_run, args.max_runs)
    if args.launcher == "ray":
        ray_cluster.run(work, args.workdir, need, args.ray_address, observer)
    else:
        slurm.write(work, args.workdir, need, command_for_one_run(), args.slurm_option, observer.say)


def command_for_one_run() -> list[str]:
    """The command that runs here, so that it works one run of the list by itself and ends."""
    own = command.Parser(None)
    add_flags(own)
    # What had failed is forgotten by now. Each task would forget what has failed since.
    own.add_argument("--retry_failed", action="store_true")
    _, others = own.parse_known_args(sys.argv[1:])
    module = f"experiments.{Path(sys.argv[0]).stem}"
    return [sys.executable, "-m", module, *others, "--launcher=local", "--max_runs=1"]


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is no number from {least} up")
        return int(text)

    return number
