"""Distributions as gin says them, in the scope `sweep/`:

    sweep/Optimizer.learning_rate_scale = ("log_uniform", 0.1, 2.0)
    sweep/Model.dropout_rate = ("uniform", 0.0, 0.4)             # a third number, if any, is a step
    sweep/Optimizer.warmup_steps = ("log_integer", 100, 4000)    # or ("integer", low, high), and a step, if any
    sweep/Model.pre_norm = ("choice", False, True)

Settings that change together are one choice, under a name of its own. What is drawn only then is conditional:

    sweep/heads = ("choice",
        {"Model.num_heads": 1, "Model.d_k": 512, "Model.d_v": 512},
        {"Model.num_heads": 8, "Model.d_k": ("choice", 16, 32, 64), "Model.d_v": 64})
"""

import difflib
import math
from collections.abc import Callable
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from experiments.gin_bindings import SETTINGS, Binding, require_known
from experiments.study.space import Dimension, Option
from transformer_jax.checked import ConfigError

_CHOICE = "choice"


def dimension(binding: Binding) -> Dimension:
    """What `sweep/NAME = (distribution, ...)` says.

    Raises:
      ConfigError: a distribution is misspelt or cannot be, or a name is no setting's.
    """
    name = binding.name.split("/", 1)[1]
    kind = _kind(binding)
    if "." in name or kind != _CHOICE:
        require_known(Binding(name, None, binding.where), SETTINGS)
    return _dimension(name, name, binding.value, binding.where)


def _kind(binding: Binding) -> str:
    value = binding.value
    if not isinstance(value, tuple) or not value or not isinstance(value[0], str):
        raise ConfigError(
            f'{binding.where}: {binding.name} = {value!r}: must be a distribution, as ("uniform", 0.0, 0.4)'
        )
    kinds = [*_NUMBERS, _CHOICE]
    if value[0] not in kinds:
        close = difflib.get_close_matches(value[0], kinds, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(kinds)}"
        raise ConfigError(f"{binding.where}: {binding.name}: {value[0]} is no distribution; {hint}")
    return value[0]


def _dimension(name: str, setting: str, said: tuple[Any, ...], where: str) -> Dimension:
    kind, *arguments = said
    try:
        if kind != _CHOICE:
            return Dimension(name, setting, _NUMBERS[kind](*_numbers(kind, arguments)), where)
        options = _options(name, setting, arguments, where)
        return Dimension(name, setting, CategoricalDistribution(list(options)), where, options)
    except ValueError as error:
        raise ConfigError(f"{where}: sweep/{name} = {said!r}: {error}") from error


def _numbers(kind: str, arguments: list[Any]) -> list[Any]:
    """Low, high and perhaps a step, of the right type and order."""
    whole = kind.endswith("integer")
    wanted = "whole numbers" if whole else "finite numbers"
    is_number = (int,) if whole else (int, float)
    if any(isinstance(value, bool) or not isinstance(value, is_number) or not math.isfinite(value)
           for value in arguments):  # fmt: skip
        raise ValueError(f"must have {wanted}")
    if len(arguments) not in ((2,) if kind.startswith("log") else (2, 3)):
        raise ValueError("must have a low and a high number" + ", and may have a step" * (not kind.startswith("log")))
    low, high, step = (*arguments, 1)[:3]
    if low >= high or step <= 0:
        raise ValueError("the first number must be below the second, and a step above 0")
    if kind.startswith("log") and low <= 0:
        raise ValueError("the first number must be above 0")
    if len(arguments) == 3 and abs((high - low) / step - round((high - low) / step)) > 1e-9:
        raise ValueError("the step must lead from the first number to the second")
    return arguments


_NUMBERS: dict[str, Callable[..., BaseDistribution]] = {
    "uniform": lambda low, high, step=None: FloatDistribution(low, high, step=step),
    "log_uniform": lambda low, high: FloatDistribution(low, high, log=True),
    "integer": lambda low, high, step=1: IntDistribution(low, high, step=step),
    "log_integer": lambda low, high: IntDistribution(low, high, log=True),
}


def _options(name: str, setting: str, arguments: list[Any], where: str) -> dict[Any, Option]:
    if not arguments:
        raise ValueError("must have something to choose from")
    options: dict[Any, Option] = {}
    for argument in arguments:
        label = _label(argument)
        if label in options:
            raise ValueError(f"says {label!r} twice")
        if not isinstance(argument, dict) and "." not in setting:
            raise ValueError(f'{argument!r} must be settings with values, as {{"Model.num_heads": 8}}')
        said = argument if isinstance(argument, dict) else {setting: argument}
        options[label] = _option(f"{name} is {label}", said, where)
    return options


def _option(condition: str, said: dict[Any, Any], where: str) -> Option:
    drawn = {}
    for setting, value in said.items():
        require_known(Binding(str(setting), value, where), SETTINGS)
        if _is_drawn(value):
            drawn[setting] = _dimension(f"{setting} if {condition}", setting, value, where)
    return Option({name: value for name, value in said.items() if name not in drawn}, tuple(drawn.values()))


def _is_drawn(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and value[0] in (*_NUMBERS, _CHOICE)


def _label(argument: Any) -> Any:
    """The value of a choice's distribution that stands for it: Optuna knows numbers, strings, truth values and None."""
    if isinstance(argument, dict):
        said = {str(name).split(".")[-1]: value for name, value in argument.items() if not _is_drawn(value)}
        return ", ".join(f"{name} {value}" for name, value in said.items())
    return argument if argument is None or isinstance(argument, (bool, int, float, str)) else repr(argument)
