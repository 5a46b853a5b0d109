"""Table 3 of the paper: trains its rows at a scale, and prints the table with ours beside the paper's.

python -m experiments.table3 --params
python -m experiments.table3 --gin_file=gin_configs/scale/builtin_eighth.gin --seeds=3 --workdir=runs/table3_builtin
python -m experiments.table3 --rows=base,big --gin_file=gin_configs/scale/wmt14_full.gin --workdir=runs/table3 --dry_run

The same command again goes on where it was stopped. Started several times, here or on other machines that share the
file system, it works on one list, and no run is taken twice: a process for each GPU, or for each core of a small CPU.
With --launcher=ray the nodes of a cluster work the list; --launcher=slurm writes a job array that does.
"""

from argparse import Namespace
from pathlib import Path

from experiments import command
from experiments.ablation import conclusions, csv_table, estimate, parameter_counts, plot, tables
from experiments.ablation.rows import require_folder_of_rows, row_names, row_runs
from experiments.ablation.summary import TableSummary, summarise
from experiments.launchers import launch
from experiments.progress import prepare
from experiments.run_list import RunList
from experiments.workdir import write_text


def main() -> None:
    flags = command.parser(__doc__, gin_file_required=False)
    flags.add_argument("--params", action="store_true", help="the params column, ours beside the paper's; no training")
    flags.add_argument("--rows", default="all", help="rows by name, with commas between them")
    flags.add_argument("--seeds", type=int, default=1, help="seeds 1 to this number are run")
    flags.add_argument("--workdir", type=Path)
    flags.add_argument("--dry_run", action="store_true", help="list the runs, and estimate what is left of them")
    flags.add_argument("--retry_failed", action="store_true", help="run again what failed before")
    flags.add_argument("--table_only", action="store_true", help="tabulate what is finished; run nothing")
    launch.add_flags(flags)
    args = flags.parse_args()
    if args.params:
        print(parameter_counts.render(parameter_counts.parameter_table()))
        return
    if args.workdir is None or args.seeds < 1:
        flags.error("--workdir is required, and --seeds must be at least 1")
    names = row_names(args.rows)
    runs = _list(args, names)
    runs.require_own()
    if args.dry_run:
        speed = estimate.measured_speed(runs)
        print(estimate.render(estimate.estimates(runs, speed), speed))
        return
    if not args.table_only:
        first = runs.runs[0].experiment
        # What is wrong with the data is wrong for all runs: said once, at once.
        prepare(first.data, first.cleaning, first.trees)
        if args.retry_failed:
            runs.forget_failures()
        launch.launch(args, runs, command.observer())
    # Base's runs are compared with where they are there, whether or not they were asked for.
    summary = summarise(names, args.seeds, _list(args, row_names(f"base,{args.rows}")))
    print(_write(args.workdir, summary) if summary else "no run is finished yet")
    runs.require_none_failed()


def _list(args: Namespace, names: list[str]) -> RunList:
    require_folder_of_rows(args.workdir)
    return RunList(row_runs(names, args.seeds, args.gin_file, args.gin_param), args.workdir, "dev")


def _write(workdir: Path, summary: TableSummary) -> str:
    """Everything about the rows so far, in the formats that people want; the Markdown, which is for reading."""
    table, verdicts = tables.markdown(summary), conclusions.render(conclusions.conclusions(summary))
    write_text(workdir / "table3.md", table)
    write_text(workdir / "table3_conclusions.md", verdicts)
    write_text(workdir / "table3.csv", csv_table.csv_text(summary))
    write_text(workdir / "table3.tex", tables.latex(summary))
    plot.plot(summary, workdir / "table3")
    return f"{table}\n{verdicts}\nwritten: {workdir / 'table3'}.md, .csv, .tex, .png, .svg, _conclusions.md"


if __name__ == "__main__":
    command.run(main)
