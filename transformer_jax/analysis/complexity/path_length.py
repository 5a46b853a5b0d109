"""Maximum path length, the last column of Table 1: steps from the first position of the input to the output's last.

A step is one layer of a stack. The recurrent layer connects all positions by itself, but by a path through its cell: a
step is there one application of the cell, at all positions at once, each to its input and to what the step before left
at the position to the left.

What depends on what is read off Jacobians of the layers at random vectors, one layer at a time: a block of zeros, to
the last bit, is a position that is not read.
"""

import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import count
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from transformer_jax.analysis.complexity import layers
from transformer_jax.analysis.complexity.layers import Sizes, cell, layer, random_parameters, random_vectors

Influence = Bool[np.ndarray, "output input"]  # whether a position of the output depends on one of the input


def measured_path_length(name: str, sizes: Sizes) -> int:
    """Steps until the last output depends on the first input."""
    if name == layers.RECURRENT:
        return _cell_applications(sizes)
    return steps_to_connect(layer_influences(name, sizes))


def path_length(name: str, sizes: Sizes) -> int:
    """The same by the formula, for k and r of at least 2: the fewest steps whose reaches add up to n - 1."""
    n, k = sizes.n, sizes.k
    if name == layers.RECURRENT:
        return n
    if name == layers.CONTIGUOUS:
        return max(1, math.ceil((n - 1) / (k - 1)))
    if name == layers.RESTRICTED:
        return max(1, math.ceil((n - 1) / (sizes.r // 2)))
    if name == layers.DILATED:
        return next(steps for steps in count(1) if k**steps >= n)
    return 1


FORMULAS = {
    layers.SELF_ATTENTION: "1",
    layers.PROJECTED: "1",
    layers.RECURRENT: "n",
    layers.CONTIGUOUS: "⌈(n − 1) / (k − 1)⌉",
    layers.DILATED: "⌈log_k n⌉",
    layers.RESTRICTED: "⌈(n − 1) / ⌊r / 2⌋⌉",
}


def steps_to_connect(influences: Iterator[Influence]) -> int:
    """How many steps, each with the influence of its own, carry the first position's information to the last.

    Raises:
      ValueError: not even as many as there are positions do.
    """
    steps, reached = 0, np.array([True])
    while steps < len(reached):
        influence = next(influences)
        reached = (influence & reached).any(axis=1) if steps else influence[:, 0]
        steps += 1
        if reached[-1]:
            return steps
    raise ValueError(f"the last position is not reached in {steps} steps")


def layer_influences(name: str, sizes: Sizes) -> Iterator[Influence]:
    """Of the layers of a stack, from the lowest on."""

    x = random_vectors(sizes.n, sizes.d)

    @cache
    def known(module: nn.Module) -> Influence:
        parameters = random_parameters(module, x[None])
        return _influence(lambda x: module.apply(parameters, x[None])[0], x)

    return (known(layer(name, sizes, depth)) for depth in count())


def _influence(function: Callable[[Array], Array], x: Float[np.ndarray, " n *vector"]) -> Influence:
    """Of a function from n vectors to n vectors."""
    jacobian = np.asarray(jax.jit(jax.jacrev(function))(x))
    n, inputs = len(x), x[0].size
    return (jacobian.reshape(n, -1, n, inputs) != 0).any(axis=(1, 3))


def _cell_applications(sizes: Sizes) -> int:
    """Round after round of the cell at all positions."""
    step, (n, d) = cell(sizes), (sizes.n, sizes.d)
    x, states = random_vectors(n, d), random_vectors(n, 2, d)  # an LSTM's state is two vectors
    parameters = random_parameters(step, (x, x), x)

    def next_states(states: Any, x: Any) -> Array:
        left = jnp.pad(states[:-1], ((1, 0), (0, 0), (0, 0)))
        carry = left[:, 0], left[:, 1]
        return jnp.stack(step.apply(parameters, carry, x)[0], axis=1)

    of_inputs, of_states = _influence(partial(next_states, states), x), _influence(partial(next_states, x=x), states)
    # The first round reads the inputs; later ones read them again, and what the round before left.
    return steps_to_connect(of_states | of_inputs if steps else of_inputs for steps in count())
