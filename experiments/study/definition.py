"""A sweep as its config defines it: the settings that stay, the space of those that vary, and how it is searched."""

import dataclasses
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.gin_bindings import Binding, Bindings, build, build_experiment, load_bindings, resolved, settings_of
from experiments.study import consumed
from experiments.study.distributions import dimension
from experiments.study.settings import Sweep
from experiments.study.space import Dimension, Params, Space, dimensions, extremes, grid, points, settings_at
from experiments.workdir import read_experiment
from transformer_jax.checked import ConfigError
from transformer_jax.config import Experiment

_SCOPE = "sweep"
_SEED = "Training.seed"
_PLACE = "Data.cache_directory"  # where a machine keeps copies
_POINTS_TRIED = 1024


@dataclass(frozen=True)
class Definition:
    """What every worker of a sweep must agree on."""

    sweep: Sweep
    bindings: Bindings  # of the experiment; what varies is replaced
    space: Space

    def experiment(self, params: Params, seed: int) -> Experiment:
        """The run of one point with one seed.

        Raises:
          ConfigError: the point's settings do not go together.
        """
        settings = settings_at(self.space, params) | {_SEED: seed}
        at = ", ".join(f"{name} = {value!r}" for name, value in params.items())
        return build_experiment(
            self.bindings | {name: Binding(name, value, f"at {at}") for name, value in settings.items()}
        )

    @property
    def seeds(self) -> list[int]:
        """Of each trial's runs; that of the run whose weights are decoded with, if there is one."""
        if self.sweep.trained is not None:
            return [self.bindings[_SEED].value]
        return list(range(1, self.sweep.seeds + 1))

    @property
    def points(self) -> list[Params] | None:
        """Those that are tried, in order, if the sampler is the grid."""
        return grid(self.space, self.sweep.trials) if self.sweep.sampler == "grid" else None

    def described(self) -> dict[str, str]:
        """All of it: equal for two that are the same sweep. How many trials are made is not part of it."""
        varied = {name for each in self.space for name in _settings(each)} | {_SEED, _PLACE}
        sweep = dataclasses.asdict(self.sweep)
        return {
            **{f"Sweep.{name}": repr(value) for name, value in sweep.items() if name != "trials"},
            **{f"{_SCOPE}/{each.name}": str(each.distribution) for each in dimensions(self.space)},
            **{name: repr(binding.value) for name, binding in self.bindings.items() if name not in varied},
        }


def load_definition(gin_files: Sequence[str], gin_params: Sequence[str]) -> Definition:
    """The sweep that the files and then the bindings define.

    Raises:
      ConfigError: a file or a binding is wrong, or the space is one that cannot be searched.
      WorkdirError: `Sweep.trained` is no run's folder.
    """
    said = load_bindings(gin_files, gin_params, known=settings_of(Sweep), scope=_SCOPE)
    sweep = build(Sweep, said)
    space = tuple(dimension(binding) for name, binding in said.items() if name.startswith(f"{_SCOPE}/"))
    fixed = {name: binding for name, binding in said.items() if not name.startswith((f"{_SCOPE}/", "Sweep."))}
    if sweep.trained is not None:
        consumed.require_decoding_only(fixed.values())
        fixed = _of_run(Path(sweep.trained)) | fixed
    _require_searchable(space, sweep)
    definition = Definition(sweep, fixed, space)
    _require_possible(definition)
    return definition


def _of_run(workdir: Path) -> Bindings:
    settings = resolved(read_experiment(workdir, [], []))
    return {name: Binding(name, value, str(workdir / "config.gin")) for name, value in settings.items()}


def _settings(each: Dimension) -> set[str]:
    """All settings that it may say, at once or because of what it drew."""
    if each.options is None:
        return {each.setting}
    options = each.options.values()
    nested = (_settings(inner) for option in options for inner in option.dimensions)
    return {name for option in options for name in option.settings}.union(*nested)


def _require_searchable(space: Space, sweep: Sweep) -> None:
    """There is something to search, each setting varies once, and trials can be compared by what it does."""
    if not space:
        raise ConfigError(f'nothing varies: say {_SCOPE}/Model.dropout_rate = ("uniform", 0.0, 0.4) or the like')
    seen: dict[str, Dimension] = {}
    for each in space:
        for name in sorted(_settings(each)):
            if name in seen:
                raise ConfigError(f"{each.where}: {name} varies in {_SCOPE}/{seen[name].name} already")
            seen[name] = each
            consumed.require_consumed(name, each.where, sweep)
    if sweep.sampler == "grid":
        grid(space, at_most=1)  # raises where there is none


def _require_possible(definition: Definition) -> None:
    """Every extreme value is part of some point that is an experiment.

    A single value that is wrong makes all its points wrong; settings that depend on each other make some of them so.
    """
    rng = random.Random(0)
    unseen = {
        (each.name, value): each for each in dimensions(definition.space) for value in extremes(each.distribution)
    }
    problems: dict[tuple[str, Any], ConfigError] = {}
    for _ in range(_POINTS_TRIED):
        point = next(points(definition.space, lambda distribution: [rng.choice(extremes(distribution))]))
        try:
            definition.experiment(point, seed=1)
            unseen = {value: each for value, each in unseen.items() if value not in point.items()}
        except ConfigError as error:
            problems |= {value: error for value in point.items() if value not in problems}
        if not unseen:
            return
    if len(unseen) == len(problems):
        raise ConfigError(f"no point of the space is an experiment: {next(iter(problems.values()))}")
    for (name, value), each in unseen.items():
        if (name, value) in problems:
            raise ConfigError(f"{each.where}: {_SCOPE}/{name} cannot be {value!r}: {problems[name, value]}")
