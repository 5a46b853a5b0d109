"""Two runs' learning curves in one picture."""

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.comparison.run import ComparedRun, ComparisonError
from experiments.workdir import whole_file

# Told apart without colours too, also where one lies on the other.
_STYLES: dict[str, dict[str, Any]] = {
    "A": {"color": "#0072B2", "linestyle": "-", "linewidth": 2.4, "marker": "o", "markersize": 3.5},
    "B": {"color": "#D55E00", "linestyle": "--", "linewidth": 1.4, "marker": "s", "markersize": 2.5},
}


def require_outside(into: Path, *workdirs: Path) -> None:
    """Raises ComparisonError if `into` is one of the runs' folders, or lies in one."""
    for workdir in workdirs:
        if into.resolve().is_relative_to(workdir.resolve()):
            raise ComparisonError(f"--into={into} lies in the run {workdir}, where a comparison writes nothing")


def write_curves(a: ComparedRun, b: ComparedRun, into: Path) -> Path:
    """Writes `compare.png`, the whole file or nothing; returns its path."""
    into.mkdir(parents=True, exist_ok=True)
    with whole_file(into / "compare.png") as temporary:
        figure(a, b).savefig(temporary, format="png")
    return into / "compare.png"


def figure(a: ComparedRun, b: ComparedRun) -> Figure:
    """On the left training loss, on the right dev perplexity, against updates made."""
    drawn = Figure(figsize=(13, 5.5), dpi=100, layout="constrained")
    loss, perplexity = drawn.subplots(1, 2)
    for run in (a, b):
        _draw(loss, run, "train", "loss")
        _draw(perplexity, run, "dev", "perplexity")
    loss.set_ylabel(_with_setting("training loss, nats per target token", a, b, "Training.label_smoothing"))
    perplexity.set_ylabel(_with_setting("dev perplexity per piece", a, b, "Data.vocab_size"))
    perplexity.set_yscale("log")
    perplexity.yaxis.set_major_formatter("{x:g}")
    perplexity.yaxis.set_minor_formatter("{x:g}")
    for axes in (loss, perplexity):
        axes.set_xlabel("updates")
        axes.grid(color="#e4e4e4", which="both")
        axes.set_axisbelow(True)
    drawn.legend(*loss.get_legend_handles_labels(), loc="outside upper center", frameon=False)
    return drawn


def _draw(axes: Axes, run: ComparedRun, kind: str, name: str) -> None:
    records = [record for record in run.record.logged if record["kind"] == kind]
    steps, values = ([record[field] for record in records] for field in ("step", name))
    axes.plot(steps, values, label=f"{run.label}: {run.workdir}", **_STYLES[run.label])


def _with_setting(name: str, a: ComparedRun, b: ComparedRun, setting: str) -> str:
    """The axis's name; where the runs' curves are not of one kind, why."""
    ours, theirs = (run.record.settings()[setting] for run in (a, b))
    return name if ours == theirs else f"{name}\n(not comparable: {setting} is {ours} in A, {theirs} in B)"
