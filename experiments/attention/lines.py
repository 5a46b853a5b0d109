"""The paper's drawing of attention, Figures 3 to 5: what looks above, what is looked at below."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from experiments.attention.drawing import INK, LEAST, QUIET
from experiments.attention.pieces import Piece
from experiments.attention.seen import Stack
from experiments.attention.view import View, head_colours

_STEP, _GAP, _CHARACTER = 0.27, 1.9, 0.09  # inches: from token to token, between the two rows, a letter's width
_SPREAD = 0.86  # of a step: all heads' places below a token
_STRIPES = 0.16  # the height of what shows a word's weights at their other end


def lines_figure(stack: Stack, view: View) -> Figure:
    """The chosen heads of one layer, all words or one; colours by head, thickness and opacity by weight."""
    count = max(len(stack.rows), len(stack.columns))
    above, below = (_CHARACTER * max(len(piece.label) for piece in side) + 0.2 for side in (stack.rows, stack.columns))
    width, height = max(_STEP * count + 0.3, 4.0), _GAP + above + below + 0.35
    drawn = Figure(figsize=(width, height), dpi=120)
    margin = (width / _STEP - count) / 2
    axes = drawn.add_axes((0, below / height, 1, _GAP / height))
    axes.set_xlim(-0.5 - margin, count - 0.5 + margin)
    axes.set_ylim(0, _GAP)
    axes.axis("off")
    _draw_lines(axes, stack, view)
    if view.rows is not None:
        _draw_stripes(axes, stack, view)
    _write(axes, stack.rows, _GAP + 0.06, "bottom", view.rows)
    _write(axes, stack.columns, -0.06, "top", None)
    _name_heads(drawn, stack, view)
    return drawn


def _draw_lines(axes: Axes, stack: Stack, view: View) -> None:
    colours = head_colours(stack.weights.shape[1])
    rows = range(len(stack.rows)) if view.rows is None else view.rows
    bottom = 0 if view.rows is None else _STRIPES
    for place, head in enumerate(view.heads):
        end = _place(place, len(view.heads))
        weights = stack.weights[view.layer, head]
        pairs = [(i, j) for i in rows for j in range(len(stack.columns)) if weights[i, j] >= LEAST]
        values = np.array([weights[i, j] for i, j in pairs])
        axes.add_collection(
            LineCollection(
                [[(i, _GAP), (j + end, bottom)] for i, j in pairs],
                colors=[to_rgba(colours[head], min(1.0, float(value))) for value in values],
                linewidths=0.8 + 2.7 * values,
                capstyle="round",
            ),
            autolim=False,
        )


def _place(number: int, count: int) -> float:
    """Where below a token a head has its place, in steps from the middle: lines between two words lie side by side."""
    return _SPREAD * ((number + 0.5) / count - 0.5)


def _draw_stripes(axes: Axes, stack: Stack, view: View) -> None:
    """Below the lines of one word, the weights of each head side by side; of a word of several tokens, the largest."""
    colours = head_colours(stack.weights.shape[1])
    width = _SPREAD / len(view.heads)
    for place, head in enumerate(view.heads):
        largest = stack.weights[view.layer, head, view.rows].max(0)
        middle = _place(place, len(view.heads))
        for j, value in enumerate(largest.tolist()):
            box = Rectangle((j + middle - width / 2, 0), width, _STRIPES, color=to_rgba(colours[head], value), lw=0)
            axes.add_patch(box)


def _write(axes: Axes, tokens: Sequence[Piece], y: float, side: str, chosen: Sequence[int] | None) -> None:
    for i, piece in enumerate(tokens):
        quiet = piece.kind == "special" or (chosen is not None and i not in chosen)
        weight = "bold" if chosen is not None and i in chosen else "normal"
        style: dict[str, Any] = {"rotation": 90, "ha": "center", "va": side, "fontsize": 11, "fontweight": weight}
        axes.text(i, y, piece.label, color=QUIET if quiet else INK, parse_math=False, clip_on=False, **style)


def _name_heads(drawn: Figure, stack: Stack, view: View) -> None:
    """A legend in one line at the top."""
    colours = head_colours(stack.weights.shape[1])
    handles = [Rectangle((0, 0), 1, 1, color=colours[head]) for head in view.heads]
    names = [str(head + 1) for head in view.heads]
    names[0] = f"head {names[0]}"
    style: dict[str, Any] = {
        "frameon": False,
        "fontsize": 9,
        "handlelength": 0.9,
        "handleheight": 0.9,
        "columnspacing": 1.0,
    }
    drawn.legend(handles, names, loc="upper center", ncols=len(names), handletextpad=0.4, labelcolor=INK, **style)
