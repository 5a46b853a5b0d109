"""Table 4 of the paper: trains parsers, and prints the table with ours beside the paper's and beside two yardsticks.

python -m experiments.table4 --gin_file=gin_configs/table4/builtin.gin --workdir=runs/table4
python -m experiments.table4 --workdir=runs/table4 --table_only

Each --gin_file is a run of its own, in a folder of its name in the workdir. Without any, the runs that are there are
read. The yardsticks are a grammar read off the run's own training trees, and right-branching: minutes the first time,
then kept beside the run. The same command again goes on where it was stopped.
"""

from argparse import Namespace
from pathlib import Path

from experiments import command
from experiments.parsing.runs import ParsedRun, parsed_runs, run_list
from experiments.parsing.table import markdown
from experiments.parsing.yardsticks import keep_yardsticks
from experiments.progress import prepare
from experiments.run_list import RunList
from experiments.workdir import write_text
from transformer_jax.training.loop import Observer


def main() -> None:
    flags = command.parser(__doc__, gin_file_required=False)
    flags.add_argument("--workdir", type=Path, required=True)
    flags.add_argument("--retry_failed", action="store_true", help="run again what failed before")
    flags.add_argument("--table_only", action="store_true", help="tabulate what is finished; run nothing")
    args = flags.parse_args()
    runs = run_list(args.workdir, args.gin_file, args.gin_param)
    if not args.table_only:
        _work(args, runs, command.observer())
    print(_write(args.workdir, parsed_runs(runs)))
    if args.gin_file:
        runs.require_none_failed()


def _work(args: Namespace, runs: RunList, observer: Observer) -> None:
    if args.gin_file:
        runs.require_own()
        for each in (run.experiment for run in runs.runs):
            prepare(each.data, each.cleaning, each.trees)  # what is wrong with the data is said at once
        if args.retry_failed:
            runs.forget_failures()
        runs.work(observer=observer)
    for parsed in parsed_runs(runs):
        if observer.should_stop():
            break
        keep_yardsticks(parsed.folder, parsed.experiment, observer.say)


def _write(workdir: Path, runs: list[ParsedRun]) -> str:
    if not runs:
        return "no run is finished yet"
    table = markdown(runs)
    write_text(workdir / "table4.md", table)
    return f"{table}\nwritten: {workdir / 'table4.md'}"


if __name__ == "__main__":
    command.run(main)
