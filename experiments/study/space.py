"""The space of a sweep: what is drawn, and which settings of an experiment a point of it says."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import BaseTrial

from transformer_jax.checked import ConfigError

# A point: a dimension's name -> a value of its distribution.
Params = dict[str, Any]


@dataclass(frozen=True)
class Option:
    """One thing that a choice may be: settings with values, and what is drawn only then."""

    settings: dict[str, Any]
    dimensions: tuple["Dimension", ...]


@dataclass(frozen=True)
class Dimension:
    """One thing that is drawn: a number for a setting, or one of several options."""

    name: str  # in the study
    setting: str  # that has the number; or what the choice is called
    distribution: BaseDistribution
    where: str  # it was said, for people
    options: dict[Any, Option] | None = None  # by the values of the distribution; None: the value is the setting's

    def settings(self, value: Any) -> dict[str, Any]:
        """What `value` says at once."""
        return {self.setting: value} if self.options is None else self.options[value].settings

    def dimensions(self, value: Any) -> tuple["Dimension", ...]:
        """What is drawn because of `value`."""
        return () if self.options is None else self.options[value].dimensions


Space = tuple[Dimension, ...]


def dimensions(space: Space) -> Iterator[Dimension]:
    """All of them, the conditional ones among them."""
    for dimension in space:
        yield dimension
        for option in (dimension.options or {}).values():
            yield from dimensions(option.dimensions)


def settings_at(space: Space, params: Params) -> dict[str, Any]:
    """Every setting that a point says."""
    settings: dict[str, Any] = {}
    for dimension in space:
        value = params[dimension.name]
        settings |= dimension.settings(value) | settings_at(dimension.dimensions(value), params)
    return settings


def suggested(space: Space, trial: BaseTrial) -> Params:
    """The point that a trial of Optuna has, or now gets from its study's sampler."""
    params: Params = {}
    for dimension in space:
        value = _suggest(trial, dimension.name, dimension.distribution)
        params |= {dimension.name: value} | suggested(dimension.dimensions(value), trial)
    return params


def _suggest(trial: BaseTrial, name: str, drawn: BaseDistribution) -> Any:
    if isinstance(drawn, CategoricalDistribution):
        return trial.suggest_categorical(name, drawn.choices)
    if isinstance(drawn, IntDistribution):
        return trial.suggest_int(name, drawn.low, drawn.high, step=drawn.step, log=drawn.log)
    assert isinstance(drawn, FloatDistribution)
    return trial.suggest_float(name, drawn.low, drawn.high, step=drawn.step, log=drawn.log)


def points(space: Space, values: Callable[[BaseDistribution], Sequence[Any]]) -> Iterator[Params]:
    """Every combination of the `values` of the distributions."""
    if not space:
        yield {}
        return
    for value in values(space[0].distribution):
        for others in points((*space[0].dimensions(value), *space[1:]), values):
            yield {space[0].name: value} | others


def extremes(distribution: BaseDistribution) -> Sequence[Any]:
    """All options of a choice; the lowest and the highest number."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices
    assert isinstance(distribution, (IntDistribution, FloatDistribution))
    return (distribution.low, distribution.high)


def grid(space: Space, at_most: int) -> list[Params]:
    """The first points of all that there are.

    Raises:
      ConfigError: a dimension has no end of values.
    """
    for dimension in dimensions(space):
        if not _steps(dimension.distribution):
            raise ConfigError(
                f'{dimension.where}: a grid needs "choice", "integer" or a step, as in ("uniform", 0.0, 0.4, 0.1)'
            )
    return list(islice(points(space, _steps), at_most))


def _steps(distribution: BaseDistribution) -> Sequence[Any]:
    """All values; none where they have no end, or no step."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices
    if isinstance(distribution, IntDistribution) and not distribution.log:
        return range(distribution.low, distribution.high + 1, distribution.step)
    if isinstance(distribution, FloatDistribution) and distribution.step is not None:
        count = round((distribution.high - distribution.low) / distribution.step) + 1
        return [round(distribution.low + index * distribution.step, 12) for index in range(count)]
    return ()
