"""Who chooses a trial's point, and who stops a trial early: Optuna's samplers and pruners, by the names in a config."""

import warnings

from optuna.exceptions import ExperimentalWarning
from optuna.pruners import BasePruner, MedianPruner, NopPruner
from optuna.samplers import BaseSampler, QMCSampler, RandomSampler, TPESampler

from experiments.study.settings import Sweep


def sampler(sweep: Sweep, number: int) -> BaseSampler:
    """Chooses the point of trial `number`, from it and from the trials before, whichever process asks.

    A sampler that lived as long as a process would, in the next process, begin its random numbers again.
    """
    seed = sweep.sampler_seed + number
    if sweep.sampler == "quasi_random":
        return _quasi_random(sweep, seed)
    # A grid's points are given to the study, and nothing is left for its sampler.
    return TPESampler(seed=seed) if sweep.sampler == "tpe" else RandomSampler(seed)


def _quasi_random(sweep: Sweep, seed: int) -> BaseSampler:
    """One scrambled Sobol sequence, of which the study knows the place; before a first trial has ended, and for
    choices, random points."""
    with warnings.catch_warnings(category=ExperimentalWarning, action="ignore"):
        return QMCSampler(
            scramble=True,
            seed=sweep.sampler_seed,
            independent_sampler=RandomSampler(seed),
            warn_independent_sampling=False,
            warn_asynchronous_seeding=False,
        )


def pruner(sweep: Sweep) -> BasePruner:
    """Says, by the dev losses that trials have reported, whether one should stop."""
    if sweep.pruner == "none":
        return NopPruner()
    return MedianPruner(n_startup_trials=sweep.unpruned_trials, n_warmup_steps=sweep.unpruned_steps)
