"""All heads of a layer on one sheet, each as a table of weights: a row looks, a column is looked at."""

import math
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from experiments.attention.drawing import INK
from experiments.attention.seen import Stack
from experiments.attention.view import TITLES, View

_CELL, _CHARACTER = 0.17, 0.078  # inches
_COLOURS, _SCALE = "Blues", PowerNorm(0.5, 0, 1)  # so that weights of a few hundredths are seen
_BAR = 0.5  # inches, for the scale


def sheet_figure(stack: Stack, view: View) -> Figure:
    """Tokens are written at the sheet's edges only: they are the same for every head."""
    heads = stack.weights.shape[1]
    across = min(heads, math.ceil(math.sqrt(heads)) if heads <= 4 else 4)
    down = math.ceil(heads / across)
    left, below = (_CHARACTER * max(len(piece.label) for piece in side) + 0.2 for side in (stack.rows, stack.columns))
    cell_width, cell_height = _CELL * len(stack.columns), _CELL * len(stack.rows)
    width = left + across * (cell_width + 0.15) + _BAR + 0.35
    height = below + down * (cell_height + 0.3) + 0.35
    drawn = Figure(figsize=(width, height), dpi=110)
    for head in range(heads):
        row, column = divmod(head, across)
        x, y = left + column * (cell_width + 0.15), below + (down - 1 - row) * (cell_height + 0.3)
        axes = drawn.add_axes((x / width, y / height, cell_width / width, cell_height / height))
        _draw(axes, stack, view.layer, head, rows=column == 0, columns=head + across >= heads)
    title = f"{TITLES[view.stack]}, layer {view.layer + 1} of {len(stack.weights)}"
    drawn.text(0.5, 1 - 0.1 / height, title, ha="center", va="top", fontsize=10, color=INK)
    _draw_scale(drawn, (left + across * (cell_width + 0.15) + 0.02) / width, below / height, width, height)
    return drawn


def _draw(axes: Axes, stack: Stack, layer: int, head: int, *, rows: bool, columns: bool) -> None:
    axes.imshow(stack.weights[layer, head], cmap=_COLOURS, norm=_SCALE, aspect="auto", interpolation="nearest")
    axes.set_title(f"head {head + 1}", fontsize=9, pad=3, color=INK)
    _label(axes, "y", [piece.label for piece in stack.rows] if rows else [])
    _label(axes, "x", [piece.label for piece in stack.columns] if columns else [])
    for spine in axes.spines.values():
        spine.set_color("#c9ced4")


def _label(axes: Axes, which: Literal["x", "y"], labels: list[str]) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_ticks(range(len(labels)), labels, fontsize=8, color=INK, parse_math=False)
    axes.tick_params(which, length=0, pad=2, rotation=90 if which == "x" else 0)


def _draw_scale(drawn: Figure, x: float, y: float, width: float, height: float) -> None:
    axes = drawn.add_axes((x + 0.05 / width, y, 0.09 / width, min(1.6 / height, 0.8 - y)))
    bar = drawn.colorbar(ScalarMappable(_SCALE, _COLOURS), cax=axes, ticks=[0, 0.05, 0.2, 0.5, 1])
    bar.ax.set_yticklabels(["0", "0.05", "0.2", "0.5", "1"], fontsize=8)
    bar.outline.set_visible(False)
