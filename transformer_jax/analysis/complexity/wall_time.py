"""How long a layer takes, by the clock, and how much memory."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array

from transformer_jax.analysis.complexity.layers import Sizes, layer, random_parameters, random_vectors

_SECONDS, _FEWEST, _MOST = 0.1, 3, 100


class Pass(NamedTuple):
    """A compiled program with what it is applied to."""

    run: Callable[[], Any]
    temporary_bytes: int  # that it takes beside its arguments and its result, by XLA's account


def compiled_layer(name: str, sizes: Sizes) -> Pass:
    """The layer forward on one sequence of random vectors."""
    module, parameters, x = _drawn(name, sizes)
    return compiled(module.apply, parameters, x)


def compiled_gradient(name: str, sizes: Sizes) -> Pass:
    """The layer forward and backward, to the gradient by the sequence and the parameters."""
    module, parameters, x = _drawn(name, sizes)
    direction = jnp.asarray(random_vectors(1, sizes.n, sizes.d + 1)[..., 1:])

    def along(parameters: Any, x: Array) -> Array:
        outputs: Any = module.apply(parameters, x)
        return (outputs * direction).sum()

    return compiled(jax.grad(along, argnums=(0, 1)), parameters, x)


def _drawn(name: str, sizes: Sizes) -> tuple[nn.Module, Any, Array]:
    module, x = layer(name, sizes, depth=1), jnp.asarray(random_vectors(1, sizes.n, sizes.d))
    return module, jax.tree.map(jnp.asarray, random_parameters(module, x)), x


def compiled(function: Callable[..., Any], *arguments: Any) -> Pass:
    """Any function for these arguments."""
    program = jax.jit(function).lower(*arguments).compile()
    memory: Any = program.memory_analysis()
    return Pass(lambda: program(*arguments), memory.temp_size_in_bytes)


def shortest_seconds(run: Callable[[], Any]) -> float:
    """The shortest of about a tenth of a second's tries, and of three at least: what disturbs one makes it longer."""
    first = min(_seconds(run), _seconds(run))
    number = min(max(_FEWEST, round(_SECONDS / first)), _MOST)
    return min(first, *(_seconds(run) for _ in range(number - 2)))


def _seconds(run: Callable[[], Any]) -> float:
    started = time.perf_counter()
    jax.block_until_ready(run())
    return time.perf_counter() - started
