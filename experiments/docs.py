"""Writes every figure and table of docs and README anew, from runs that are finished; trains and measures nothing.

python -m experiments.docs

Where a run is missing, that is said in a line, and what was written of it before stays. docs/performance.md and
docs/reliability.md are measurements, and written by `make bench-train` and `make faults`.
"""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from experiments import command
from transformer_jax.errors import UserError


class Step(NamedTuple):
    """A command that reads finished runs, and the folders that it cannot do without."""

    command: str
    reads: tuple[str, ...] = ()


_SHOWN = ("runs/multi30k_tiny", "runs/quickstart")
# In the README's order.
REPORTED = (
    "runs/quickstart", "runs/quickstart_restricted_16", "runs/multi30k_tiny", "runs/curves", "runs/table1",
    "runs/table2", "runs/table3_builtin_eighth", "runs/table3_multi30k_quarter", "runs/table4", "runs/bench_data",
    "runs/bench_data_36m", "runs/bench_decode",
)  # fmt: skip
STEPS = (
    Step("python -m experiments.fidelity"),
    Step(f"python -m experiments.curves {' '.join(_SHOWN)} --workdir=runs/curves", _SHOWN),
    Step(f"python -m experiments.table2 {' '.join(_SHOWN)} --workdir=runs/table2", _SHOWN),
    Step(
        "python -m experiments.table3 --gin_file=gin_configs/scale/builtin_eighth.gin --seeds=3 "
        "--workdir=runs/table3_builtin_eighth --table_only",
        ("runs/table3_builtin_eighth",),
    ),
    Step(
        "python -m experiments.table3 --rows=base,A_h_1,B_d_k_16,C_N_2,D_P_drop_0.0,E_learned_positions "
        "--gin_file=gin_configs/scale/multi30k_quarter.gin --workdir=runs/table3_multi30k_quarter --table_only",
        ("runs/table3_multi30k_quarter",),
    ),
    Step("python -m experiments.table4 --workdir=runs/table4 --table_only", ("runs/table4",)),
    Step("python -m experiments.gallery", _SHOWN),
    Step(f"python -m experiments.report {' '.join(REPORTED)}"),
)


class DocsError(UserError):
    """Steps that failed; each has said why."""


def main() -> None:
    command.Parser(__doc__).parse_args()
    failed = [step.command for step in STEPS if not done(step)]
    if failed:
        raise DocsError(f"{len(failed)} of {len(STEPS)} commands failed: {'; '.join(failed)}")


def done(step: Step) -> bool:
    """Runs the step, or says what it misses, which is no failure."""
    if missing := [folder for folder in step.reads if not Path(folder).is_dir()]:
        print(f"not there: {', '.join(missing)}; left as it stands: {step.command}", flush=True)
        return True
    print(step.command, flush=True)
    arguments = step.command.split()[1:]
    return subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=False).returncode == 0


if __name__ == "__main__":
    command.run(main)
