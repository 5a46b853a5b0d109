"""Frozen settings that check themselves: their types, and what else must hold."""

import dataclasses
import math
import types
import typing
from dataclasses import dataclass
from typing import Any

from transformer_jax.errors import UserError


class ConfigError(UserError):
    """A setting that cannot be: the message names the field, the value and the rule."""


def _accepts(annotation: Any, value: Any) -> bool:
    """Whether `value` is of the annotated type. An int passes for a float; a bool never passes for a number."""
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        return value in typing.get_args(annotation)
    if origin in (types.UnionType, typing.Union):
        return any(_accepts(choice, value) for choice in typing.get_args(annotation))
    if origin is tuple:
        return isinstance(value, tuple) and all(_accepts(typing.get_args(annotation)[0], item) for item in value)
    if annotation is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, annotation)


_TYPE_NAMES: dict[Any, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a finite number",
    str: "a string",
    tuple[str, ...]: "a tuple of strings",
    tuple[tuple[str, ...], ...]: "a tuple of tuples of strings",
    types.NoneType: "None",
}


def _type_name(annotation: Any) -> str:
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        return "one of " + ", ".join(map(repr, typing.get_args(annotation)))
    if origin in (types.UnionType, typing.Union):
        return " or ".join(map(_type_name, typing.get_args(annotation)))
    return _TYPE_NAMES[annotation]


@dataclass(frozen=True)
class Checked:
    """Checks every field's type on construction: gin hands over whatever was written in the file."""

    def __post_init__(self) -> None:
        annotations = typing.get_type_hints(type(self))
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            annotation = annotations[field.name]
            self.require(_accepts(annotation, value), field.name, f"must be {_type_name(annotation)}")

    def require(self, holds: bool, field: str, rule: str) -> None:
        """Raises ConfigError naming `field`, its value and `rule` unless `holds`."""
        if not holds:
            raise ConfigError(f"{type(self).__name__}.{field} = {getattr(self, field)!r}: {rule}")

    def require_at_least(self, bound: int, *fields: str) -> None:
        for field in fields:
            value = getattr(self, field)
            self.require(value is None or value >= bound, field, f"must be at least {bound}")

    def require_positive(self, *fields: str) -> None:
        for field in fields:
            value = getattr(self, field)
            self.require(value is None or value > 0, field, "must be positive")

    def require_rate(self, *fields: str) -> None:
        for field in fields:
            self.require(0.0 <= getattr(self, field) < 1.0, field, "must be in [0, 1)")
