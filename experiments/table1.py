"""Table 1 of the paper, measured: cost, sequential operations and path length of each layer type, beside its columns.

python -m experiments.table1 --workdir=runs/table1

Also how the attention functions of section 3.2.1 compare. It takes about two minutes on two cores, and wants a machine
that does little else: what is timed is slower beside other work.
"""

from pathlib import Path

from experiments import command
from experiments.complexity import csv_table, plot, table
from experiments.complexity.measure import measure
from experiments.complexity.plan import FULL, Plan
from experiments.progress import telling
from experiments.provenance import provenance
from experiments.workdir import write_text


def main() -> None:
    flags = command.Parser(__doc__)
    flags.add_argument("--workdir", type=Path, required=True, help="where table1.md, .csv and .png are written")
    args = flags.parse_args()
    args.workdir.mkdir(parents=True, exist_ok=True)
    print(run(FULL, args.workdir), end="")


def run(plan: Plan, workdir: Path) -> str:
    """Measures, and writes the table in all its forms; the Markdown, which is for reading."""
    with telling("measuring") as tell:
        measurements = measure(plan, tell)
    made = provenance()
    text = table.markdown(plan, measurements, made)
    write_text(workdir / "table1.md", text)
    write_text(workdir / "table1.csv", csv_table.csv_text(plan, measurements, made))
    plot.plot(plan, measurements, made, workdir / "table1.png")
    return f"{text}\nwritten: {workdir / 'table1'}.md, .csv, .png\n"


if __name__ == "__main__":
    command.run(main)
