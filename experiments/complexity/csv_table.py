"""All of Table 1's measurements as CSV, in full precision: a line for each number."""

import csv
import io
from collections.abc import Iterator
from typing import Any

from experiments.complexity.measure import Measurements
from experiments.complexity.orders import crossovers, orders
from experiments.complexity.plan import Plan
from transformer_jax.analysis.complexity import layers
from transformer_jax.analysis.complexity.path_length import path_length

_COLUMNS = ("quantity", "of", "n", "d", "k", "r", "d_k", "value", "standard_error", "expected")


def csv_text(plan: Plan, measurements: Measurements, made: dict[str, Any]) -> str:
    """`expected` is the paper's exponent, or a path length by its formula; empty where there is nothing to say."""
    versions = " ".join(f"{package}=={version}" for package, version in made["versions"].items())
    source = {name: made[name] for name in ("command", "revision", "machine", "devices", "date")}
    text = io.StringIO()
    writer = csv.DictWriter(text, [*_COLUMNS, *source, "versions"], lineterminator="\n")
    writer.writeheader()
    fits, long = _fits(plan, measurements), _long(plan, measurements)
    for record in (*_layers(measurements), *fits, *_functions(measurements), *long):
        writer.writerow(record | source | {"versions": versions})
    return text.getvalue()


def _layers(measurements: Measurements) -> Iterator[dict[str, Any]]:
    quantities = {
        "operations": measurements.operations,
        "seconds": measurements.seconds,
        "sequential products": measurements.sequential,
    }
    for quantity, measured in quantities.items():
        for (name, sizes), value in measured.items():
            yield {"quantity": quantity, "of": name, **sizes._asdict(), "value": value}
    for (name, sizes), value in measurements.path_length.items():
        expected = path_length(name, sizes)
        yield {"quantity": "path length", "of": name, **sizes._asdict(), "value": value, "expected": expected}


def _fits(plan: Plan, measurements: Measurements) -> Iterator[dict[str, Any]]:
    costs = ("operations", measurements.operations, plan.operations), ("seconds", measurements.seconds, plan.seconds)
    for cost, measured, grid in costs:
        for name, axis, fitted, paper in orders(measured, grid):
            error, quantity = fitted.standard_error, f"exponent of {cost} in {axis}"
            yield {
                "quantity": quantity, "of": name, "value": fitted.value, "standard_error": error, "expected": paper,
            }  # fmt: skip
        for name in (layers.SELF_ATTENTION, layers.PROJECTED):
            for d, n in crossovers(name, measured, grid).items():
                yield {"quantity": f"crossover of {cost} with recurrence", "of": name, "d": d, "value": n}


def _functions(measurements: Measurements) -> Iterator[dict[str, Any]]:
    for each in measurements.functions:
        values = {name.replace("_", " "): float(value) for name, value in each.softness._asdict().items()}
        values |= {"seconds": each.seconds, "temporary bytes": each.temporary_bytes}
        for quantity, value in values.items():
            yield {"quantity": quantity, "of": each.name, "d_k": each.d_k, "value": value}


def _long(plan: Plan, measurements: Measurements) -> Iterator[dict[str, Any]]:
    for name, each in measurements.long.items():
        for quantity, value in (("seconds", each.seconds), ("temporary bytes", each.temporary_bytes)):
            yield {
                "quantity": f"{quantity}, forward and backward", "of": name, **plan.long._asdict(), "value": value,
            }  # fmt: skip
