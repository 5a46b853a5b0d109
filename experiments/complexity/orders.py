"""Measured orders of growth beside the paper's: exponents, and where self-attention stops being the cheaper one."""

from typing import NamedTuple

from experiments.complexity.measure import Measured
from experiments.complexity.plan import Grid
from experiments.complexity.rows import paper_exponents
from transformer_jax.analysis.complexity import layers
from transformer_jax.analysis.complexity.exponents import Exponent, crossover, fitted_exponent


class Order(NamedTuple):
    """How a layer's cost grows with one of its sizes."""

    layer: str
    axis: str
    fitted: Exponent
    paper: int


def orders(measured: Measured, grid: Grid) -> list[Order]:
    """Each layer type's, in each of the sizes that the paper says it depends on."""
    return [
        Order(
            name, axis, fitted_exponent(grid.values[axis], [measured[name, sizes] for sizes in grid.sweep(axis)]), paper
        )
        for name in layers.NAMES
        for axis, paper in paper_exponents(name).items()
    ]


def crossovers(name: str, measured: Measured, grid: Grid) -> dict[int, float | None]:
    """Width -> the length from which on that kind of self-attention costs as much as recurrence; None: at none here."""
    found = {}
    for d in grid.crossing_d:
        ours, recurrent = ([measured[each, sizes] for sizes in grid.crossing(d)] for each in (name, layers.RECURRENT))
        found[d] = crossover(grid.crossing_n, ours, recurrent)
    return found
