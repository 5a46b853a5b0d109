"""Table 1 of measurements that are made up: what is written of them is what they are."""

import csv
import io
import math
from dataclasses import replace

import numpy as np
import pytest

from experiments import table1
from experiments.complexity import csv_table, plot, table
from experiments.complexity.measure import AttentionFunction, LongSequence, Measurements
from experiments.complexity.orders import crossovers, orders
from experiments.complexity.plan import FULL, Grid, Plan
from experiments.complexity.rows import paper_exponents, paper_path, paper_row
from transformer_jax.analysis.complexity import layers
from transformer_jax.analysis.complexity.attention_functions import FUNCTIONS, SCALED, Softness
from transformer_jax.analysis.complexity.layers import Sizes
from transformer_jax.analysis.complexity.operations import operations
from transformer_jax.analysis.complexity.path_length import path_length

GRID = Grid(
    base=Sizes(n=64, d=4, k=3, r=4),
    values={"n": (32, 64, 128), "d": (2, 4, 8), "k": (2, 3, 4), "r": (4, 8, 16)},
    crossing_n=(2, 4, 8, 16, 32, 64, 128),
    crossing_d=(2, 4, 8),
)
PLAN = Plan(
    GRID, replace(GRID, crossing_d=(2, 4)), 1, tuple(Sizes(n, 2, 3, 4) for n in (2, 5)), (2, 4), 6, 5, Sizes(9, 2, 3, 4)
)
MADE = {
    "command": "python -m experiments.table1 --workdir=somewhere",
    "revision": "0123456789ab",
    "machine": "a machine, 3 cores",
    "devices": "1 x cpu",
    "date": "2020-02-03T04:05:06+00:00",
    "versions": {"jax": "1.2", "numpy": "3.4"},
}


def exponents(name: str) -> dict[str, float]:
    """The paper's, but half as large again for one layer type: ours are not the paper's by definition."""
    return {axis: power * (1.5 if name == layers.DILATED else 1) for axis, power in paper_exponents(name).items()}


def cost(name: str, sizes: Sizes) -> float:
    """Powers of the sizes, self-attention's products three times as dear as recurrence's."""
    products = math.prod(getattr(sizes, axis) ** power for axis, power in exponents(name).items())
    return 3.0 * products if name == layers.SELF_ATTENTION else float(products)


@pytest.fixture(scope="module")
def measurements() -> Measurements:
    connected = [(name, sizes) for name in layers.NAMES for sizes in PLAN.connected]
    soft = Softness(*(np.float32(value) for value in (1.25, 0.5, 0.125)))
    return Measurements(
        operations={point: cost(*point) for point in PLAN.operations.points()},
        seconds={point: cost(*point) * 1e-6 for point in PLAN.seconds.points()},
        sequential={(name, sizes): sizes.n if name == layers.RECURRENT else 2 for name, sizes in connected},
        path_length={point: path_length(*point) for point in connected},
        functions=[AttentionFunction(name, d_k, soft, 0.002, 3 * 2**20) for d_k in PLAN.d_k for name in FUNCTIONS],
        long={layers.SELF_ATTENTION: LongSequence(0.75, 2**24), layers.RESTRICTED: LongSequence(0.25, 2**20)},
    )


def test_the_paper_s_orders_are_read_as_printed():
    assert [paper_exponents(name) for name in layers.NAMES] == [
        {"n": 2, "d": 1}, {"n": 2, "d": 1}, {"n": 1, "d": 2},
        {"k": 1, "n": 1, "d": 2}, {"k": 1, "n": 1, "d": 2}, {"r": 1, "n": 1, "d": 1},
    ]  # fmt: skip
    assert [paper_path(name) for name in layers.NAMES] == ["O(1)", "O(1)", "O(n)", "O(n/k)", "O(log_k(n))", "O(n/r)"]


def test_orders_are_fitted_where_one_size_varies(measurements):
    found = orders(measurements.operations, GRID)
    assert [order.axis for order in found] == [axis for name in layers.NAMES for axis in paper_exponents(name)]
    for order in found:
        assert order.fitted.value == pytest.approx(exponents(order.layer)[order.axis]), order
        assert order.paper == paper_exponents(order.layer)[order.axis]


def test_crossovers_are_found_at_each_width(measurements):
    """3 n^2 d = n d^2 at n = d / 3; without the 3 at n = d."""
    found = {
        name: crossovers(name, measurements.operations, GRID) for name in (layers.PROJECTED, layers.SELF_ATTENTION)
    }
    assert found[layers.PROJECTED] == {2: None, 4: pytest.approx(4), 8: pytest.approx(8)}
    assert found[layers.SELF_ATTENTION] == {2: None, 4: None, 8: pytest.approx(8 / 3)}


def test_the_markdown_has_the_paper_s_columns_beside_what_was_measured(measurements):
    text = table.markdown(PLAN, measurements, MADE)
    rows = cells(text)
    for row, name in zip(rows[2:8], layers.NAMES, strict=True):
        theirs = paper_row(name)
        fitted = ", ".join(f"{axis} {power:.2f} ± 0.00" for axis, power in exponents(name).items())
        assert row[:4] == [name, theirs.complexity_per_layer, fitted, fitted]
        assert (row[4], row[6]) == (theirs.sequential_operations, paper_path(name))
    assert [row[5] for row in rows[2:8]] == ["2", "2", "5", "2", "2", "2"]
    assert [row[7] for row in rows[2:8]] == ["1", "1", "5", "2", "2", "2"]
    assert ["recurrent", "n", "2", "5", "yes"] in rows
    assert ["8", "3", "8", "", ""] in rows, "wall time has no d = 8"
    assert ["4", "", "4", "", "4"] in rows
    assert [SCALED, "4", "1.250", "5.00e-01", "1.25e-01", "2.00", "3.0"] in rows
    assert ["seconds", "0.750", "0.250", "3.0"] in rows
    assert ["MiB beside inputs and gradients", "16", "1", "16.0"] in rows
    origin = "2020-02-03, a machine, 3 cores, 1 x cpu; code 0123456789ab, jax 1.2, numpy 3.4."
    assert text.endswith(f"```\n{MADE['command']}\n```\n\n{origin}\n")


def cells(markdown: str) -> list[list[str]]:
    """Of all rows of all tables."""
    rows = [line.strip("|").split("|") for line in markdown.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows]


def test_a_path_that_is_not_the_formula_s_is_said(measurements):
    wrong = dict(measurements.path_length)
    wrong[layers.DILATED, PLAN.connected[0]] = 7
    text = table.markdown(PLAN, replace(measurements, path_length=wrong), MADE)
    assert [row[0] for row in cells(text) if "NO" in row] == [layers.DILATED]


def test_the_csv_has_every_number_in_full(measurements):
    records = list(csv.DictReader(io.StringIO(csv_table.csv_text(PLAN, measurements, MADE))))
    assert sum(record["quantity"] == "operations" for record in records) == len(measurements.operations)
    found = {
        (record["quantity"], record["of"], *(record[axis] for axis in "ndkr"), record["d_k"]): record
        for record in records
    }
    assert len(found) == len(records)
    for (name, sizes), value in measurements.seconds.items():
        assert float(found["seconds", name, *map(str, sizes), ""]["value"]) == value
    fit = found["exponent of operations in d", layers.DILATED, "", "", "", "", ""]
    assert (float(fit["value"]), fit["expected"]) == (pytest.approx(3), "2")
    assert float(fit["standard_error"]) == pytest.approx(0, abs=1e-6)
    assert found["crossover of operations with recurrence", layers.SELF_ATTENTION, "", "4", "", "", ""]["value"] == ""
    assert found["path length", layers.RECURRENT, "5", "2", "3", "4", ""]["expected"] == "5"
    assert float(found["temporary bytes", SCALED, "", "", "", "", "2"]["value"]) == 3 * 2**20
    assert {(record["command"], record["versions"]) for record in records} == {(MADE["command"], "jax==1.2 numpy==3.4")}


def test_the_picture_shows_every_line(measurements, tmp_path):
    drawn = plot.figure(PLAN, measurements, "its origin")
    panels = drawn.axes
    assert drawn.get_supxlabel() == "its origin"
    for axes, axis, costs in zip(
        (*panels[:2], *panels[3:5]), "ndnd", [measurements.operations] * 2 + [measurements.seconds] * 2, strict=True
    ):
        assert len(axes.lines) == len(layers.NAMES)
        for line, name in zip(axes.lines, layers.NAMES, strict=True):
            assert list(line.get_xdata()) == list(GRID.values[axis])
            assert list(line.get_ydata()) == [costs[name, sizes] for sizes in GRID.sweep(axis)]
            assert line.get_label() == f"${axis}^{{{exponents(name)[axis]:.2f}}}$"
    assert [list(line.get_ydata()) for line in panels[5].lines][2] == [2, 5]
    assert [len(axes.lines) for axes in panels[6:]] == [3, 3, 3]
    plot.plot(PLAN, measurements, MADE, tmp_path / "table1.png")
    assert (tmp_path / "table1.png").read_bytes().startswith(b"\x89PNG")


def test_the_plan_compares_where_n_is_much_larger_than_d():
    """And fits exponents to four points or more."""
    for grid in (FULL.operations, FULL.seconds):
        assert min(map(len, grid.values.values())) >= 4
        assert len(set(grid.points())) == len(list(grid.points()))
    assert FULL.operations.base.n >= 32 * max(FULL.operations.values["d"])
    assert min(FULL.operations.values["n"]) >= 32 * FULL.operations.base.d
    assert (FULL.d_k[0], FULL.d_k[-1]) == (4, 512)


@pytest.mark.slow
def test_the_command_s_exponents_of_operations_are_the_paper_s():
    counted = {point: operations(*point) for point in FULL.operations.points()}
    for order in orders(counted, FULL.operations):
        assert order.fitted.value == pytest.approx(order.paper, abs=0.15), order
        assert order.fitted.standard_error < 0.02, order
    lengths = crossovers(layers.SELF_ATTENTION, counted, FULL.operations)
    assert lengths == {d: pytest.approx(4 * d, rel=0.05) for d in FULL.operations.crossing_d}


@pytest.mark.slow
def test_the_command_measures_and_writes(tmp_path, monkeypatch):
    few = replace(GRID, crossing_n=(2, 8), crossing_d=(2,))
    monkeypatch.setattr(table1, "FULL", replace(PLAN, operations=few, seconds=few))
    monkeypatch.setattr("sys.argv", ["experiments/table1.py", f"--workdir={tmp_path / 'new'}"])
    table1.main()
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"table1.md", "table1.csv", "table1.png"}
    text = (tmp_path / "new" / "table1.md").read_text()
    assert "NO" not in text
    assert f"python -m experiments.table1 --workdir={tmp_path / 'new'}" in text
