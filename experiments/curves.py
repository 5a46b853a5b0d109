"""Draws learning curves: loss, perplexity, BLEU, learning rate and speed of any runs in one figure.

python -m experiments.curves runs/multi30k_tiny runs/quickstart --workdir=runs/curves
python -m experiments.curves runs/table3 --workdir=runs/table3_curves

Runs may be finished, still training, or interrupted; a folder of runs is all the runs in it, at any depth. Writes
`curves.png`, `curves.svg`, `curves.csv` with all that is drawn, and `curves.md`, which says of what.
"""

import sys
from pathlib import Path

from experiments import command
from experiments.comparison.curves import labelled, require_outside, write_curves
from experiments.comparison.series import table
from experiments.provenance import provenance
from experiments.registry.records import read_runs
from experiments.workdir import write_text


def main() -> None:
    flags = command.Parser(__doc__)
    flags.add_argument("runs", nargs="+", type=Path, help="runs, or folders of runs")
    flags.add_argument("--workdir", type=Path, required=True, help="where the figure is written; no run's folder")
    args = flags.parse_args()
    records = read_runs(args.runs)
    require_outside("--workdir", args.workdir, *(record.path for record in records))
    for record in records:
        print(*(f"{record.path}/{problem}\n" for problem in record.problems), sep="", end="", file=sys.stderr)
    runs = labelled(records)
    points = table(runs)
    write_curves(runs, *(args.workdir / f"curves.{kind}" for kind in ("png", "svg")))
    write_text(args.workdir / "curves.csv", points.text("csv"))
    drawn = ", ".join(f"{label} ({record.progress})" for label, record in runs.items())
    write_text(args.workdir / "curves.md", f"Learning curves of {drawn}.\n\n```\n{provenance()['command']}\n```\n")
    print(f"written: {args.workdir / 'curves'}.png, .svg, .csv, .md")


if __name__ == "__main__":
    command.run(main)
