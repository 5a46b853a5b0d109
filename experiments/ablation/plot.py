"""Table 3 as a picture: every row's distance from base, ours and the paper's, in BLEU and in perplexity.

Perplexity's is a ratio, on a logarithmic axis: a small model's and the paper's can stand in one panel, and equal steps
are equal differences in loss.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from experiments import paper
from experiments.ablation.summary import RowSummary, TableSummary
from experiments.ablation.tables import Metric, from_base, paper_from_base
from experiments.workdir import whole_file
from transformer_jax.metrics.significance import Comparison, Difference, Ratio

OURS, PAPERS, BASE = "ours", "the paper's", "base"
_COLOURS = {OURS: "#0072B2", PAPERS: "#D55E00", BASE: "#666666"}  # told apart without red and green: Okabe and Ito
_EQUALITY: dict[Metric, float] = {"bleu": Difference.equality, "perplexity": Ratio.equality}
_TITLE_WIDTH = 150  # characters that fit on a line
_TITLES = {"A": "(A) heads", "B": "(B) key size", "C": "(C) model size", "D": "(D) regularisation", "E": "(E)"}
_SYMBOLS = {
    "d_model": r"$d_\mathrm{model}$",
    "d_ff": r"$d_\mathrm{ff}$",
    "d_k": "$d_k$",
    "P_drop": r"$P_\mathrm{drop}$",
    "eps_ls": r"$\epsilon_\mathrm{ls}$",
}
_LINEAR = 3.0  # BLEU beyond this is drawn on a logarithmic axis
_BLEU_TICKS = (-100, -50, -20, -10, -5, -3, -2, -1, 0, 1, 2, 3, 5, 10, 20, 50, 100)
_NARROW_RATIO_TICKS = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.5)
_WIDE_RATIO_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
# Fixed: a layout that is solved for differs in its last digits from one drawing to the next.
_MARGINS = {"left": 0.05, "right": 0.993, "bottom": 0.14, "top": 0.92, "wspace": 0.06, "hspace": 0.05}
_NOTE = (
    "Lines: 95 % intervals, cut at a panel's edge. † one seed, of row or base: noise between seeds is not counted. "
    "Perplexity: geometric means over seeds."
)


class Mark(NamedTuple):
    """A mark's height and the ends of its line, NaN where there is no interval."""

    value: float
    low: float = math.nan
    high: float = math.nan
    seeds_counted: bool = True


def plot(summary: TableSummary, path_without_suffix: Path) -> list[Path]:
    """Writes the picture as PNG, 1,600 pixels wide, and as SVG; returns their paths."""
    drawn = figure(summary)
    with matplotlib.rc_context({"svg.hashsalt": "table 3"}):  # equal pictures are equal files
        return [_save(drawn, path_without_suffix, kind) for kind in ("png", "svg")]


def figure(summary: TableSummary) -> Figure:
    """Above BLEU, below perplexity; a column a group of rows. A row not run has the paper's mark only."""
    groups: dict[str, list[str]] = {}
    for name, row in paper.TABLE_3.items():
        groups.setdefault(row.group, []).append(name)
    del groups["base"]
    drawn = Figure(figsize=(16, 8.5), dpi=100)
    drawn.subplots_adjust(**_MARGINS)
    widths = [max(len(names), 1.4) for names in groups.values()]
    panels = drawn.subplots(2, len(groups), sharex="col", sharey="row", width_ratios=widths)
    for metric, axes in zip(_EQUALITY, panels, strict=True):
        ours, theirs = our_marks(summary.rows, metric), paper_marks(metric)
        for names, axis in zip(groups.values(), axes, strict=True):
            _draw(axis, names, ours, theirs)
            axis.axhline(_EQUALITY[metric], color=_COLOURS[BASE], linewidth=1.2, zorder=1, label=BASE)
        _scale(axes[0], metric, [*ours.values(), *theirs.values()])
    _write(drawn, panels, list(groups), summary)
    return drawn


def our_marks(rows: Iterable[RowSummary], metric: Metric) -> dict[str, Mark]:
    """Row -> its distance from base, for every row that has one: BLEU's difference, perplexity's ratio."""
    ours = {row.name: from_base(row, metric) for row in rows}
    return {name: _mark(each) for name, each in ours.items() if each and math.isfinite(each.value)}


def _mark(ours: Comparison) -> Mark:
    return Mark(ours.value, _number(ours.low), _number(ours.high), ours.seeds_counted)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def paper_marks(metric: Metric) -> dict[str, Mark]:
    """The same of the paper's own figures."""
    return {name: Mark(paper_from_base(row, metric)) for name, row in paper.TABLE_3.items() if name != "base"}


def _draw(axis: Axes, names: Sequence[str], ours: Mapping[str, Mark], theirs: Mapping[str, Mark]) -> None:
    """One panel: ours a little to the left of a row's place, the paper's to the right."""
    places = {name: place - 0.12 for place, name in enumerate(names) if name in ours}
    marks = [ours[name] for name in places]
    axis.errorbar(
        list(places.values()),
        [mark.value for mark in marks],
        yerr=[[mark.value - mark.low for mark in marks], [mark.high - mark.value for mark in marks]],
        fmt="o", markersize=8, capsize=4, color=_COLOURS[OURS], label=OURS,
    )  # fmt: skip
    for place, mark in zip(places.values(), marks, strict=True):
        if not mark.seeds_counted:
            axis.annotate("†", (place, mark.value), (-7, 0), textcoords="offset points", ha="right", va="center")
    axis.plot(
        [place + 0.12 for place in range(len(names))],
        [theirs[name].value for name in names],
        "D", markersize=8, markerfacecolor="none", markeredgewidth=1.6, color=_COLOURS[PAPERS], label=PAPERS,
    )  # fmt: skip
    axis.set_xticks(range(len(names)), [_short(paper.TABLE_3[name]) for name in names])
    axis.set_xlim(-0.6, len(names) - 0.4)
    axis.grid(axis="y", color="#e4e4e4")
    axis.set_axisbelow(True)


def _short(row: paper.Row) -> str:
    """What the row changes first, over two lines."""
    if row.group == "big":
        return "big"
    (name, value), *_ = row.cells.items()
    return f"{value}\npositions" if name == "positions" else f"{_SYMBOLS.get(name, name)}\n{value}"


def _scale(axis: Axes, metric: Metric, marks: Sequence[Mark]) -> None:
    """The row of panels shows every mark, and so much of the lines that the marks still fill most of the height."""
    if metric == "perplexity":
        axis.set_yscale("log")
    elif max(abs(mark.value) for mark in marks) > 2 * _LINEAR:
        axis.set_yscale("symlog", linthresh=_LINEAR, linscale=1.5)
    to_height = axis.yaxis.get_transform()
    heights = to_height.transform([mark.value for mark in marks])
    ends = to_height.transform([end for mark in marks for end in (mark.low, mark.high) if math.isfinite(end)])
    low, high = heights.min(), heights.max()
    margin = 0.3 * (high - low)
    limits = [max(min([low, *ends]), low - margin), min(max([high, *ends]), high + margin)]
    padding = 0.06 * (limits[1] - limits[0])
    axis.set_ylim(*to_height.inverted().transform([limits[0] - padding, limits[1] + padding]))
    axis.yaxis.set_major_locator(FixedLocator(_ticks(metric, *axis.get_ylim())))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(
        lambda value, _: f"{value:g}" if metric == "perplexity" else f"{value:+g}" if value else "0"
    )


def _ticks(metric: Metric, bottom: float, top: float) -> Sequence[float]:
    if metric == "bleu":
        return _BLEU_TICKS
    return _NARROW_RATIO_TICKS if top < 2.5 * bottom else _WIDE_RATIO_TICKS


def _write(drawn: Figure, panels: np.ndarray, groups: Sequence[str], summary: TableSummary) -> None:
    """Titles, legend and note."""
    for axis, group in zip(panels[0], groups, strict=True):
        axis.set_title(_TITLES.get(group, ""), fontsize=12)
    panels[0][0].set_ylabel("BLEU, difference from base", fontsize=12)
    panels[1][0].set_ylabel("perplexity, divided by base's", fontsize=12)
    drawn.suptitle(fill(title(summary), _TITLE_WIDTH), fontsize=12, y=0.995)
    handles = dict(zip(*reversed(panels[0][0].get_legend_handles_labels()), strict=True))
    style = {"ncols": 3, "frameon": False, "fontsize": 12, "title_fontsize": 10}
    drawn.legend([handles[label] for label in _COLOURS], list(_COLOURS), loc="lower center", title=_NOTE, **style)


def title(summary: TableSummary) -> str:
    """Scale, corpus and seeds."""
    counts = [len(row.seeds) for row in summary.rows if row.seeds] or [0]
    seeds = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else str(max(counts))
    base = next((row for row in summary.rows if row.name == "base"), None)
    scale = f"base of {base.parameters:,} parameters, {base.steps:,} steps; " if base else ""
    return f"Table 3, distance from base. Ours: {scale}{summary.corpus}; seeds a row: {seeds}"


def _save(drawn: Figure, path_without_suffix: Path, kind: str) -> Path:
    """The whole file or nothing."""
    path = path_without_suffix.with_name(f"{path_without_suffix.name}.{kind}")
    with whole_file(path) as temporary:
        drawn.savefig(temporary, format=kind, metadata={"Date": None} if kind == "svg" else None)
    return path
