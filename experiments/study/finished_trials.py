"""A sweep's finished trials at one moment, as its pictures show them: those with a finite score.

Pruned trials have no score, so what made a trial be pruned does not show: a parameter whose bad values are all pruned
seems to matter little.
"""

import math
from collections import Counter
from typing import NamedTuple

import optuna
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

_STATES = {TrialState.COMPLETE: "without a finite score", TrialState.FAIL: "failed"}


class NoPicture(Exception):  # noqa: N818
    """Why there is nothing to draw: no error, the study is young."""


class FinishedTrials(NamedTuple):
    """The finished trials at one moment: other processes may be adding to the study."""

    study: Study  # of these trials alone, numbered anew
    trials: list[FrozenTrial]  # the best first
    scores: list[float]  # theirs
    parameters: dict[str, int]  # how many trials have each, in Optuna's order
    metric: str  # and which is better
    counts: str  # of how many, and of the others


def finished_trials(study: Study, metric: str) -> FinishedTrials:
    """Those of a study with one objective; `metric` is what people call it."""
    everything, higher = study.get_trials(deepcopy=False), study.direction == StudyDirection.MAXIMIZE
    trials = [t for t in everything if t.state == TrialState.COMPLETE and math.isfinite(t.values[0])]
    trials.sort(key=lambda trial: trial.values[0], reverse=higher)
    others = Counter(t.state for t in everything) - Counter(t.state for t in trials)
    left_out = [f"{number} {_STATES.get(state, state.name.lower())}" for state, number in sorted(others.items())]
    alone = optuna.create_study(direction=study.direction)
    alone.add_trials(trials)
    return FinishedTrials(
        alone,
        trials,
        [trial.values[0] for trial in trials],
        dict(sorted(Counter(name for trial in trials for name in trial.params).items())),
        f"{metric} ({'higher' if higher else 'lower'} is better)",
        f"{len(trials)} of {len(everything)} trials shown" + "; not shown: " * bool(left_out) + ", ".join(left_out),
    )
