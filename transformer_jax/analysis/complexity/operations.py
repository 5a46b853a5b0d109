"""Complexity per layer, the second column of Table 1: floating-point operations by XLA's cost analysis."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from transformer_jax.analysis.complexity.layers import RECURRENT, Sizes, cell, layer


def operations(name: str, sizes: Sizes) -> float:
    """Of one sequence through one layer, two a multiply-add, element-wise work included.

    XLA counts the body of a loop once, however often it runs. The recurrent layer, the only one that has a loop, is
    therefore n times what XLA counts of its cell; unrolled, it is counted the same.
    """
    if name == RECURRENT:
        step = cell(sizes)
        x = _shape(1, sizes.d)
        carry = jax.eval_shape(lambda: step.initialize_carry(jax.random.key(0), x.shape))
        return sizes.n * counted(step.apply, jax.eval_shape(step.init, jax.random.key(0), carry, x), carry, x)
    # The second layer of a stack: the first one of a dilated convolution has no gaps.
    module, x = layer(name, sizes, depth=1), _shape(1, sizes.n, sizes.d)
    return counted(module.apply, jax.eval_shape(module.init, jax.random.key(0), x), x)


def counted(function: Callable[..., Any], *arguments: Any) -> float:
    """What XLA counts of the program as it was written: compiled, it is another one on each kind of device."""
    analysis: Any = jax.jit(function).lower(*arguments).cost_analysis()
    return analysis["flops"]


def _shape(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)
