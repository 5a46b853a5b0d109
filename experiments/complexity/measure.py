"""Table 1's measurements, one after another."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from experiments.complexity.plan import Grid, Plan
from transformer_jax.analysis.complexity.attention_functions import (
    FUNCTIONS,
    Softness,
    additive_parameters,
    attend,
    score_function,
    softness,
)
from transformer_jax.analysis.complexity.dependency_chain import sequential_products
from transformer_jax.analysis.complexity.layers import NAMES, RESTRICTED, SELF_ATTENTION, Sizes, layer
from transformer_jax.analysis.complexity.operations import operations
from transformer_jax.analysis.complexity.path_length import measured_path_length
from transformer_jax.analysis.complexity.wall_time import compiled, compiled_gradient, compiled_layer, shortest_seconds

Tell = Callable[[str], None]
Measured = Mapping[tuple[str, Sizes], float]  # by layer type and sizes


class AttentionFunction(NamedTuple):
    """One of the attention functions at one d_k."""

    name: str
    d_k: int
    softness: Softness
    seconds: float  # of as many queries as keys
    temporary_bytes: int  # that this takes beside its arguments and its result


class LongSequence(NamedTuple):
    """A layer forward and backward."""

    seconds: float
    temporary_bytes: int


@dataclass(frozen=True)
class Measurements:
    operations: Measured
    seconds: Measured
    sequential: Measured
    path_length: Measured
    functions: list[AttentionFunction]
    long: dict[str, LongSequence]  # of full and of restricted self-attention


def measure(plan: Plan, tell: Tell) -> Measurements:
    """All of the plan; each step is told before it is taken."""
    counted = {}
    for name, sizes in plan.operations.points():
        tell(f"operations: {name}, {_text(sizes)}")
        counted[name, sizes] = operations(name, sizes)
    chains, paths = {}, {}
    for sizes in plan.connected:
        for name in NAMES:
            tell(f"paths: {name}, {_text(sizes)}")
            chains[name, sizes] = _sequential(name, sizes)
            paths[name, sizes] = measured_path_length(name, sizes)
    seconds, functions = _seconds(plan.seconds, plan.rounds, tell), _functions(plan, tell)
    return Measurements(counted, seconds, chains, paths, functions, _long(plan, tell))


def _long(plan: Plan, tell: Tell) -> dict[str, LongSequence]:
    measured = {}
    for name in (SELF_ATTENTION, RESTRICTED):
        tell(f"forward and backward: {name}, {_text(plan.long)}")
        made = compiled_gradient(name, plan.long)
        measured[name] = LongSequence(shortest_seconds(made.run), made.temporary_bytes)
    return measured


def _sequential(name: str, sizes: Sizes) -> int:
    module, x = layer(name, sizes), jax.ShapeDtypeStruct((1, sizes.n, sizes.d), jnp.float32)
    return sequential_products(module.apply, jax.eval_shape(module.init, jax.random.key(0), x), x)


def _seconds(grid: Grid, rounds: int, tell: Tell) -> Measured:
    """Round after round of all layers: what slows the machine for a while does not slow all that one layer does."""
    runs = {}
    for name, sizes in grid.points():
        tell(f"compiling: {name}, {_text(sizes)}")
        runs[name, sizes] = compiled_layer(name, sizes).run
    shortest = dict.fromkeys(runs, math.inf)
    for number in range(1, rounds + 1):
        for (name, sizes), run in runs.items():
            tell(f"time, round {number} of {rounds}: {name}, {_text(sizes)}")
            shortest[name, sizes] = min(shortest_seconds(run), shortest[name, sizes])
    return shortest


def _functions(plan: Plan, tell: Tell) -> list[AttentionFunction]:
    measured = []
    for d_k in plan.d_k:
        for name in FUNCTIONS:
            tell(f"attention functions: {name}, d_k = {d_k}")
            measured.append(_attention_function(name, d_k, plan.queries, plan.keys))
    return measured


def _attention_function(name: str, d_k: int, queries: int, keys: int) -> AttentionFunction:
    """At random queries, keys and values, whose components have mean 0 and variance 1."""
    *random, parameters = jax.random.split(jax.random.key(d_k), 4)
    score = score_function(name, additive_parameters(parameters, d_k))
    vectors = [jax.random.normal(key, (queries, d_k)) for key in random]
    soft = jax.jit(partial(softness, score))(vectors[0], vectors[1][:keys])
    made = compiled(partial(attend, score), *vectors)
    return AttentionFunction(name, d_k, soft, shortest_seconds(made.run), made.temporary_bytes)


def _text(sizes: Sizes) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes._asdict().items())
