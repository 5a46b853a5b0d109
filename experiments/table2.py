"""Table 2 of the paper: its ten systems with their costs recomputed, and our finished runs, with costs three ways.

python -m experiments.table2 runs/multi30k_tiny runs/table3 --workdir=runs/table2
python -m experiments.table2 --workdir=runs/table2

Named are runs, or folders of runs at any depth; without any, those in the workdir are read. One of a config of
gin_configs/table2, in a folder of its name, stands in the paper's row. Nothing is trained or scored: a run without test
scores, or of before the paper's protocol was measured, is blank there. Writes table2.md and table2.csv.
"""

from pathlib import Path

from experiments import command
from experiments.costs.rows import our_runs
from experiments.costs.table import csv_text, markdown
from experiments.provenance import provenance
from experiments.workdir import write_text


def main() -> None:
    flags = command.Parser(__doc__)
    flags.add_argument("runs", nargs="*", type=Path, help="runs, or folders of runs")
    flags.add_argument("--workdir", type=Path, required=True)
    args = flags.parse_args()
    own = [args.workdir] if next(args.workdir.glob("**/config.gin"), None) else []
    runs, unscored = our_runs(args.runs or own)
    args.workdir.mkdir(parents=True, exist_ok=True)
    table = markdown(runs, unscored, provenance())
    write_text(args.workdir / "table2.md", table)
    write_text(args.workdir / "table2.csv", csv_text(runs))
    print(f"{table}\nwritten: {args.workdir / 'table2.md'}, {args.workdir / 'table2.csv'}")


if __name__ == "__main__":
    command.run(main)
