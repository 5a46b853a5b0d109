"""Table 1 with what was measured beside the paper's columns, as Markdown."""

from collections.abc import Iterator
from typing import Any

from experiments.complexity.measure import Measured, Measurements
from experiments.complexity.orders import Order, crossovers, orders
from experiments.complexity.origin import origin
from experiments.complexity.plan import Grid, Plan
from experiments.complexity.rows import paper_path, paper_row
from experiments.markdown import compact_table, table
from transformer_jax.analysis.complexity import layers
from transformer_jax.analysis.complexity.exponents import fitted_exponent
from transformer_jax.analysis.complexity.path_length import FORMULAS, path_length


def markdown(plan: Plan, measurements: Measurements, made: dict[str, Any]) -> str:
    """The table, what its columns were read off, section 3.2.1's comparison, and `made`, where all of it comes from."""
    sections = {
        "Table 1, measured": f"{_table(plan, measurements)}\n{_notes(plan)}",
        "Maximum path length": f"{_paths(plan, measurements)}\n{_PATHS}",
        "Where self-attention stops being cheaper than recurrence": _crossovers(plan, measurements),
        "A long sequence": _long(plan, measurements),
        "Attention functions, section 3.2.1": f"{_functions(measurements)}\n{_functions_note(plan)}",
    }
    text = "\n\n".join(f"## {title}\n\n{section}" for title, section in sections.items())
    return f"{text}\n\n```\n{made['command']}\n```\n\n{origin(made)}\n"


def _table(plan: Plan, measurements: Measurements) -> str:
    counted = orders(measurements.operations, plan.operations)
    timed = orders(measurements.seconds, plan.seconds)
    longest = plan.connected[-1]
    rows = []
    for name in layers.NAMES:
        row = paper_row(name)
        costs = row.complexity_per_layer, _exponents(name, counted), _exponents(name, timed)
        chain = row.sequential_operations, f"{measurements.sequential[name, longest]}"
        rows.append([name, *costs, *chain, paper_path(name), f"{measurements.path_length[name, longest]}"])
    head = [
        "layer type", "complexity per layer, paper", "exponents of operations", "exponents of wall time",
        "sequential operations, paper", f"counted at n = {longest.n}",
        "maximum path length, paper", f"measured at n = {longest.n}",
    ]  # fmt: skip
    return compact_table(head, rows)


def _exponents(name: str, of: list[Order]) -> str:
    """As in "n 2.00 ± 0.01, d 1.00 ± 0.02"."""
    mine = (order for order in of if order.layer == name)
    return ", ".join(f"{order.axis} {order.fitted.value:.2f} ± {order.fitted.standard_error:.2f}" for order in mine)


def _notes(plan: Plan) -> str:
    sizes = plan.connected[-1]
    return (
        "Exponents: slopes of log cost against log size, ± their standard errors; one size at a time varies "
        f"(operations: {_swept(plan.operations)}; wall time: {_swept(plan.seconds)}). "
        "Operations: XLA's count, element-wise work included; of the recurrent layer, an LSTM, n times that of its "
        "cell. Wall time: the shortest of many, forward, one sequence, float32; n is not much larger than d there, so "
        "that a head's scores fit a cache: beyond, at some size, a layer takes many times as long at once, "
        f"and slopes are steeper (the CSV has self-attention's times up to n = {plan.seconds.crossing_n[-1]:,}). "
        "Self-attention: the products of queries, keys and values alone, which is what the paper counts, with heads of "
        "64; the whole sub-layer with its projections is in a row of its own. "
        "Restricted: in blocks of r / 2, so that 1.5 r products are made for r. "
        f"Sequential operations: products that must wait for each other. At k = {sizes.k}, r = {sizes.r}."
    )


def _swept(grid: Grid) -> str:
    ranges = (f"{axis} from {values[0]:,} to {values[-1]:,}" for axis, values in grid.values.items())
    base = ", ".join(f"{axis} = {value:,}" for axis, value in grid.base._asdict().items())
    return f"{', '.join(ranges)}, around {base}"


_PATHS = (
    "Steps until the last output depends on the first input: layers of a stack, whose Jacobians say which position "
    "reads which; of the recurrent layer, applications of its cell. Convolutions are one-sided, the restricted layer "
    "is centred on each position."
)


def _paths(plan: Plan, measurements: Measurements) -> str:
    head = ["layer type", "formula", *(f"n = {sizes.n}" for sizes in plan.connected), "formula holds"]
    return table(head, (_path(name, plan, measurements.path_length) for name in layers.NAMES))


def _path(name: str, plan: Plan, measured: Measured) -> list[str]:
    lengths = [measured[name, sizes] for sizes in plan.connected]
    expected = [path_length(name, sizes) for sizes in plan.connected]
    return [name, FORMULAS[name], *map(str, lengths), "yes" if lengths == expected else "NO"]


def _crossovers(plan: Plan, measurements: Measurements) -> str:
    """The length, at each width; and how it grows with the width."""
    columns = {
        f"{kind}, {parts}": crossovers(name, measured, grid)
        for kind, measured, grid in (
            ("operations", measurements.operations, plan.operations),
            ("wall time", measurements.seconds, plan.seconds),
        )
        for name, parts in ((layers.SELF_ATTENTION, "products alone"), (layers.PROJECTED, "with projections"))
    }
    rows = [
        [str(d), *("" if found.get(d) is None else f"{found[d]:,.0f}" for found in columns.values())]
        for d in plan.operations.crossing_d
    ]
    growth = "; ".join(f"{name}: {_growth(found)}" for name, found in columns.items())
    return (
        f"{table(['d', *columns], rows)}\nLengths n from which on self-attention costs more than the LSTM; empty "
        f"where they do not cross within what was measured. The paper: n = d, to order. n grows with d to the power "
        f"of: {growth}."
    )


def _growth(found: dict[int, float | None]) -> str:
    lengths = {d: n for d, n in found.items() if n is not None}
    if len(lengths) < 3:
        return "too few to say"
    exponent = fitted_exponent(list(lengths), list(lengths.values()))
    return f"{exponent.value:.2f} ± {exponent.standard_error:.2f}"


def _long(plan: Plan, measurements: Measurements) -> str:
    full, restricted = (measurements.long[name] for name in (layers.SELF_ATTENTION, layers.RESTRICTED))
    head = ["forward and backward", "full", "restricted", "ratio"]
    rows = [
        ["seconds", f"{full.seconds:.3f}", f"{restricted.seconds:.3f}", f"{full.seconds / restricted.seconds:.1f}"],
        [
            "MiB beside inputs and gradients",
            *(f"{each.temporary_bytes / 2**20:,.0f}" for each in (full, restricted)),
            f"{full.temporary_bytes / restricted.temporary_bytes:.1f}",
        ],
    ]
    n, d, r = plan.long.n, plan.long.d, plan.long.r
    note = f"Self-attention's products alone, full and restricted, at n = {n:,}, d = {d:,}, r = {r:,}; float32."
    return f"{table(head, rows)}\n{note}"


def _functions(measurements: Measurements) -> str:
    head = ["attention function", "d_k", "entropy", "softmax gradient", "query gradient", "ms", "MiB"]
    return table(head, _function_rows(measurements))


def _function_rows(measurements: Measurements) -> Iterator[list[str]]:
    for each in measurements.functions:
        soft = each.softness
        gradients = f"{soft.softmax_gradient:.2e}", f"{soft.query_gradient:.2e}"
        cost = f"{each.seconds * 1e3:.2f}", f"{each.temporary_bytes / 2**20:.1f}"
        yield [each.name, str(each.d_k), f"{soft.entropy:.3f}", *gradients, *cost]


def _functions_note(plan: Plan) -> str:
    return (
        f"Random queries and keys of unit variance. Entropy of a query's weights over {plan.keys} keys, in nats, and "
        f"norms of the Jacobian of the weights, by their scores and by the query: medians of {plan.queries} queries. "
        f"Time and temporary memory: forward, {plan.queries} queries, as many keys and values, float32."
    )
