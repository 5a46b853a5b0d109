"""Table 1 as a picture: costs with their exponents, crossovers and path lengths; below, the attention functions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from experiments.complexity.measure import Measured, Measurements
from experiments.complexity.orders import crossovers, orders
from experiments.complexity.origin import origin
from experiments.complexity.plan import Grid, Plan
from experiments.workdir import whole_file
from transformer_jax.analysis.complexity import attention_functions as functions
from transformer_jax.analysis.complexity import layers
from transformer_jax.analysis.complexity.path_length import FORMULAS

# Okabe and Ito's colours; two of a kind lie on each other, and differ in line and mark.
_STYLES: dict[str, dict[str, Any]] = {
    layers.SELF_ATTENTION: {"color": "#0072B2", "marker": "o"},
    layers.PROJECTED: {"color": "#56B4E9", "marker": "o", "linestyle": "--", "markerfacecolor": "none"},
    layers.RECURRENT: {"color": "#D55E00", "marker": "s"},
    layers.CONTIGUOUS: {"color": "#009E73", "marker": "^", "markersize": 9, "markerfacecolor": "none"},
    layers.DILATED: {"color": "#000000", "marker": "v", "linestyle": ":", "markersize": 4},
    layers.RESTRICTED: {"color": "#CC79A7", "marker": "D"},
    functions.SCALED: {"color": "#0072B2", "marker": "o"},
    functions.UNSCALED: {"color": "#D55E00", "marker": "s"},
    functions.ADDITIVE: {"color": "#009E73", "marker": "^"},
}


def plot(plan: Plan, measurements: Measurements, made: dict[str, Any], path: Path) -> None:
    """Writes the picture as PNG, 1,600 pixels wide; the whole file or nothing."""
    with whole_file(path) as temporary:
        figure(plan, measurements, f"{made['command']}\n{origin(made)}").savefig(temporary, format="png")


def figure(plan: Plan, measurements: Measurements, note: str) -> Figure:
    """A row of operations and one of wall time, beside them crossovers and path lengths; a row of functions."""
    drawn = Figure(figsize=(16, 14), dpi=100, layout="constrained")
    panels = drawn.subplots(3, 3)
    for row, name, measured, grid in (
        (0, "operations", measurements.operations, plan.operations),
        (1, "seconds", measurements.seconds, plan.seconds),
    ):
        for axis, axes in zip("nd", panels[row], strict=False):
            _costs(axes, name, axis, measured, grid)
    _crossings(panels[0][2], plan, measurements)
    _paths(panels[1][2], plan, measurements)
    _attention_functions(panels[2], plan, measurements)
    for axes in panels.flat:
        axes.grid(color="#e4e4e4")
        axes.set_axisbelow(True)
    drawn.supxlabel(note, fontsize=10, color="#555555")
    handles, _ = panels[1][2].get_legend_handles_labels()
    drawn.legend(handles, layers.NAMES, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=11)
    return drawn


def _costs(axes: Axes, name: str, axis: str, measured: Measured, grid: Grid) -> None:
    """Each layer type's cost against one size; its exponent stands in the legend."""
    exponents = {order.layer: order.fitted.value for order in orders(measured, grid) if order.axis == axis}
    for layer, exponent in exponents.items():
        costs = [measured[layer, sizes] for sizes in grid.sweep(axis)]
        axes.plot(grid.values[axis], costs, label=f"${axis}^{{{exponent:.2f}}}$", **_STYLES[layer])
    others = ", ".join(f"{size} = {value:,}" for size, value in grid.base._asdict().items() if size != axis)
    _finish(axes, f"{name} against {axis}, at {others}", name, axis, grid.values[axis])


def _finish(axes: Axes, title: str, y: str, x: str, values: Sequence[int], legend_columns: int = 3) -> None:
    """Logarithmic axes, with the values themselves for x's ticks; a legend with room for it above the lines."""
    axes.set_title(title, fontsize=11)
    axes.set_yscale("log")
    axes.set_ylabel(y)
    _powers_of_two(axes, x, values)
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom, top * (top / bottom) ** 0.25)
    axes.legend(loc="upper left", ncols=legend_columns, frameon=False, columnspacing=1.2)


def _crossings(axes: Axes, plan: Plan, measurements: Measurements) -> None:
    """Against the width, with the line n = d."""
    axes.plot(plan.operations.crossing_d, plan.operations.crossing_d, color="#999999", linewidth=1, label="n = d")
    for cost, measured, grid, line in (
        ("operations", measurements.operations, plan.operations, "-"),
        ("wall time", measurements.seconds, plan.seconds, ":"),
    ):
        for name in (layers.SELF_ATTENTION, layers.PROJECTED):
            found = {d: n for d, n in crossovers(name, measured, grid).items() if n is not None}
            label = cost if name == layers.SELF_ATTENTION else None  # which of the two, the colour says
            axes.plot(list(found), list(found.values()), label=label, **_STYLES[name] | {"linestyle": line})
    _finish(axes, "where self-attention costs as much as recurrence", "n", "d", plan.operations.crossing_d)


def _paths(axes: Axes, plan: Plan, measurements: Measurements) -> None:
    lengths = [sizes.n for sizes in plan.connected]
    for name in layers.NAMES:
        paths = [measurements.path_length[name, sizes] for sizes in plan.connected]
        axes.plot(
            [sizes.n for sizes in plan.connected],
            paths,
            label=FORMULAS[name].replace("log_k", "log$_k$"),
            **_STYLES[name],
        )
    sizes = plan.connected[-1]
    title = f"maximum path length against n, at k = {sizes.k}, r = {sizes.r}"
    _finish(axes, title, "steps", "n", lengths, legend_columns=2)


def _attention_functions(panels: Sequence[Axes], plan: Plan, measurements: Measurements) -> None:
    """Entropy, gradient and time against d_k."""
    softness, gradient, seconds = panels
    softness.set_title(f"entropy of the weights over {plan.keys} keys against $d_k$", fontsize=11)
    softness.set_ylabel("nats")
    gradient.set_title("norm of the softmax's Jacobian against $d_k$", fontsize=11)
    seconds.set_title(f"time of {plan.queries} queries and keys against $d_k$", fontsize=11)
    seconds.set_ylabel("seconds")
    for name in functions.FUNCTIONS:
        of = [each for each in measurements.functions if each.name == name]
        style = {"label": name.replace("d_k", "$d_k$"), **_STYLES[name]}
        softness.plot(plan.d_k, [float(each.softness.entropy) for each in of], **style)
        gradient.plot(plan.d_k, [float(each.softness.softmax_gradient) for each in of], **style)
        seconds.plot(plan.d_k, [each.seconds for each in of], **style)
    for axes in panels:
        _powers_of_two(axes, "$d_k$", plan.d_k)
        axes.legend(frameon=False)
    softness.set_ylim(bottom=0)
    for axes in (gradient, seconds):
        axes.set_yscale("log")


def _powers_of_two(axes: Axes, name: str, values: Sequence[int]) -> None:
    """A logarithmic axis with the values themselves for ticks."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(values, [f"{value:,}" for value in values])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(name)
