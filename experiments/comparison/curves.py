"""Learning curves of any runs in one picture: a panel a quantity, a colour a run."""

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogFormatter

from experiments.comparison.run import ComparisonError
from experiments.comparison.series import PANELS, Panel, Points, different
from experiments.registry.records import RunRecord
from experiments.workdir import whole_file

# Okabe and Ito's, told apart without red and green too; of more runs, as many as are needed of one scale.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_STYLES: dict[str, dict[str, Any]] = {
    "training perplexity": {"linestyle": (0, (1, 1.2)), "alpha": 0.7},
    "dev BLEU": {"linestyle": "none", "marker": "o", "markersize": 8, "fillstyle": "none", "markeredgewidth": 1.6},
    "test BLEU": {"linestyle": "none", "marker": "s", "markersize": 7},
}
_FEW = 40  # points that are marked each: a line of one would not be seen
_FAR = 4  # as many times as long as another, a run would leave it a corner of a linear axis
_LINE = 0.24  # inches that a line of the legend takes
_LINE_WIDTH = 150  # and characters that it holds
_NOTE_WIDTH = 52  # characters below a panel


def require_outside(flag: str, into: Path, *workdirs: Path) -> None:
    """Raises ComparisonError if `into`, which `flag` says, is one of the runs' folders, or lies in one."""
    for workdir in workdirs:
        if into.resolve().is_relative_to(workdir.resolve()):
            raise ComparisonError(f"{flag}={into} lies in the run {workdir}, where a comparison writes nothing")


def labelled(records: Sequence[RunRecord]) -> dict[str, RunRecord]:
    """By their paths, without the folders that all share."""
    shared = Path(os.path.commonpath([record.path.absolute().parent for record in records]))
    return {record.path.absolute().relative_to(shared).as_posix(): record for record in records}


def write_curves(runs: Mapping[str, RunRecord], *paths: Path) -> None:
    """Writes the picture of runs by their labels, each time the whole file or nothing, as the paths' endings say."""
    drawn = figure(runs)
    drawn.draw_without_rendering()
    drawn.set_layout_engine("none")  # a layout that is solved anew differs in its last digits
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        kind = path.suffix.removeprefix(".")
        # Equal pictures are equal files.
        with matplotlib.rc_context({"svg.hashsalt": "curves"}), whole_file(path) as temporary:
            drawn.savefig(temporary, format=kind, metadata={"Date": None} if kind == "svg" else None)


def figure(runs: Mapping[str, RunRecord]) -> Figure:
    """PANELS against updates made, and below them the legend."""
    columns = max(1, min(len(runs), _LINE_WIDTH // (max(map(len, runs)) + 8)))
    height = 6.2 + _LINE * math.ceil(len(runs) / columns)
    drawn = Figure(figsize=(12, height), dpi=130, layout="constrained")
    axes = list(drawn.subplots(2, 3).flat)
    colours, widths = _colours(len(runs)), _widths(len(runs))
    for axis, panel in zip(axes, PANELS, strict=True):
        _frame(axis, panel, different(panel, runs))
        curves = [
            (points, {"color": colour, "linewidth": width, **_STYLES.get(name, {})})
            for record, colour, width in zip(runs.values(), colours, widths, strict=True)
            for name, curve in panel.curves.items()
            if (points := curve(record))
        ]
        _draw(axis, curves)
    _share_updates(axes, [record.totals["updates"] for record in runs.values() if "updates" in record.totals])
    keys = [Line2D([], [], color=colour, linewidth=3) for colour in colours]
    legend = drawn.legend(keys, list(runs), loc="outside lower center", ncols=columns, frameon=False, fontsize=11)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return drawn


def _colours(count: int) -> Sequence[Any]:
    if count <= len(_COLOURS):
        return _COLOURS[:count]
    scale = matplotlib.colormaps["turbo"]
    return [scale(0.03 + 0.94 * place / (count - 1)) for place in range(count)]


def _widths(count: int) -> list[float]:
    """The first the widest: it shows on both sides where another lies on it."""
    return [2.0 - 1.0 * place / max(count - 1, 1) for place in range(count)]


def _frame(axis: Axes, panel: Panel, differing: str) -> None:
    """Title, scales, grid, and a key where a panel has curves of two kinds."""
    axis.set_title(panel.name, loc="left", fontsize=12)
    if panel.log:
        axis.set_yscale("log")
        axis.yaxis.set_minor_formatter(LogFormatter())
    axis.yaxis.set_major_formatter("{x:,.10g}")
    axis.margins(0.04, 0.08)
    axis.grid(color="#e4e4e4")
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_xlabel("\n".join(["updates", *wrap(differing and f"not comparable: different {differing}", _NOTE_WIDTH)]))
    if len(panel.curves) > 1:
        keys = [Line2D([], [], color="#555555", linewidth=2, **_STYLES.get(name, {})) for name in panel.curves]
        axis.legend(keys, [name.split()[0] for name in panel.curves], frameon=False)


def _draw(axis: Axes, curves: Sequence[tuple[Points, dict[str, Any]]]) -> None:
    for points, style in curves:
        marked: dict[str, Any] = {"marker": "o", "markersize": 3} if len(points) < _FEW else {}
        axis.plot(*zip(*points, strict=True), **marked | style)
    if not curves:
        axis.text(0.5, 0.5, "none", transform=axis.transAxes, ha="center", color="#888888")
        axis.yaxis.set_ticks([])


def _share_updates(axes: Sequence[Axes], lasts: Sequence[float]) -> None:
    """The same axis of updates for all panels; `lasts` are the runs' last updates."""
    for axis in axes[1:]:
        axis.sharex(axes[0])
    if lasts and max(lasts) > _FAR * min(lasts):
        axes[0].set_xscale("log")
    axes[0].xaxis.set_major_formatter("{x:,g}")
