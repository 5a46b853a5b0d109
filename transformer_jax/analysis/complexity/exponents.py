"""What measurements say of an order of growth: an exponent with its error, and where one cost passes another."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import linregress


class Exponent(NamedTuple):
    """p of a cost that grows with x^p."""

    value: float
    standard_error: float


def fitted_exponent(x: Sequence[int], cost: Sequence[float]) -> Exponent:
    """The slope of the straight line that comes closest to log cost against log x; three points at least."""
    fit = linregress(np.log(x), np.log(cost))
    return Exponent(float(fit.slope), float(fit.stderr))


def crossover(x: Sequence[int], cost: Sequence[float], other: Sequence[float]) -> float | None:
    """The first x from which on `cost` is no longer below `other`; None if they do not cross between two values of x.

    Between these, both are taken to be powers of x.
    """
    ratio = np.log(cost) - np.log(other)
    passed = np.flatnonzero((ratio[:-1] < 0) & (ratio[1:] >= 0))
    if not passed.size:
        return None
    left = passed[0]
    share = -ratio[left] / (ratio[left + 1] - ratio[left])
    return float(np.exp(np.log(x[left]) + share * (np.log(x[left + 1]) - np.log(x[left]))))
