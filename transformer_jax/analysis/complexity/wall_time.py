"""How long a layer takes, by the clock."""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from transformer_jax.analysis.complexity.layers import Sizes, layer, random_parameters, random_vectors

_SECONDS, _FEWEST, _MOST = 0.1, 3, 100


def compiled_layer(name: str, sizes: Sizes) -> Callable[[], Any]:
    """Runs the layer forward on one sequence of random vectors."""
    module, x = layer(name, sizes, depth=1), jnp.asarray(random_vectors(1, sizes.n, sizes.d))
    parameters = jax.tree.map(jnp.asarray, random_parameters(module, x))
    run = jax.jit(module.apply).lower(parameters, x).compile()
    return lambda: run(parameters, x)


def shortest_seconds(run: Callable[[], Any]) -> float:
    """The shortest of about a tenth of a second's tries, and of three at least: what disturbs one makes it longer."""
    first = min(_seconds(run), _seconds(run))
    number = min(max(_FEWEST, round(_SECONDS / first)), _MOST)
    return min(first, *(_seconds(run) for _ in range(number - 2)))


def _seconds(run: Callable[[], Any]) -> float:
    started = time.perf_counter()
    jax.block_until_ready(run())
    return time.perf_counter() - started
