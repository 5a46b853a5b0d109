"""Sequential operations, the third column of Table 1: the longest chain of products each of which needs the one before.

A product is a matrix product or a convolution. What is done to each number on its own counts nothing, and neither does
a sum along an axis, as in a softmax: each of its numbers waits for all the others, but not for another product.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.extend.core import Jaxpr, JaxprEqn, Literal

_PRODUCTS = ("dot_general", "conv_general_dilated")


def sequential_products(function: Callable[..., Any], *arguments: Any) -> int:
    """How many products of the program of `function` must wait for each other, however many can be made at a time.

    A scan's body counts as often as it runs, if each run needs the one before.

    Raises:
      ValueError: the program has a loop of which only its inputs say how often it runs.
    """
    program = jax.make_jaxpr(function)(*arguments).jaxpr
    return max(_depths(program, [0] * len(program.invars)))


def _depths(program: Jaxpr, inputs: Sequence[int]) -> list[int]:
    """For each output, the products on the longest chain that leads to it; `inputs` are those of the inputs."""
    depth: dict[Any, int] = dict(zip(program.invars, inputs, strict=True))

    def of(variables: Sequence[Any]) -> list[int]:
        return [0 if isinstance(variable, Literal) else depth.get(variable, 0) for variable in variables]

    for equation in program.eqns:
        depth.update(zip(equation.outvars, _after(equation, of(equation.invars)), strict=True))
    return of(program.outvars)


def _after(equation: JaxprEqn, inputs: list[int]) -> list[int]:
    """The same, for the outputs of one equation."""
    name, parameters = equation.primitive.name, equation.params
    if name == "while":
        raise ValueError("a while loop: how often it runs is not in the program")
    if name == "scan":
        return _after_scan(parameters, inputs)
    if name == "cond":
        index, *operands = inputs
        branches = (_depths(branch.jaxpr, operands) for branch in parameters["branches"])
        return [max(index, *depths) for depths in zip(*branches, strict=True)]
    inner = parameters.get("jaxpr", parameters.get("call_jaxpr"))
    if inner is not None:
        return _depths(getattr(inner, "jaxpr", inner), inputs)
    return [max(inputs, default=0) + (name in _PRODUCTS)] * len(equation.outvars)


def _after_scan(parameters: dict[str, Any], inputs: list[int]) -> list[int]:
    """What one run of the body hands on meets the next one's products; what it puts out does not."""
    consts, carried = parameters["num_consts"], parameters["num_carry"]
    carry, outputs = inputs[consts : consts + carried], [0] * (len(parameters["jaxpr"].jaxpr.outvars) - carried)
    for _ in range(parameters["length"]):
        depths = _depths(parameters["jaxpr"].jaxpr, [*inputs[:consts], *carry, *inputs[consts + carried :]])
        carry = depths[:carried]
        outputs = [max(pair) for pair in zip(outputs, depths[carried:], strict=True)]
    return [*carry, *outputs]
