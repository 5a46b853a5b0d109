"""Orders of growth of costs that are known, and the clock's shortest."""

import jax
import numpy as np
import pytest

from transformer_jax.analysis.complexity import wall_time
from transformer_jax.analysis.complexity.exponents import Exponent, crossover, fitted_exponent
from transformer_jax.analysis.complexity.layers import CONTIGUOUS, Sizes

X = np.array([2, 3, 8, 20])


def fitted(cost: np.ndarray) -> Exponent:
    return fitted_exponent(X.tolist(), cost.astype(float).tolist())


def crossed(cost: np.ndarray, other: np.ndarray) -> float | None:
    return crossover(X.tolist(), cost.astype(float).tolist(), other.astype(float).tolist())


@pytest.mark.parametrize("power", [-1.0, 0.5, 2.0])
def test_a_power_is_found_and_has_no_error(power):
    value, error = fitted(7 * X.astype(float) ** power)
    assert value == pytest.approx(power)
    assert error == pytest.approx(0, abs=1e-7)


def test_an_error_is_that_of_a_slope():
    """The textbook's: the root of the mean square of what the line misses, over the spread of x."""
    noise = np.array([0.1, -0.2, 0.2, -0.1])
    value, error = fitted(X**1.5 * np.exp(noise))
    design = np.stack([np.log(X), np.ones(4)], axis=1)
    (slope, level), *_ = np.linalg.lstsq(design, 1.5 * np.log(X) + noise)
    missed = 1.5 * np.log(X) + noise - design @ [slope, level]
    spread = ((np.log(X) - np.log(X).mean()) ** 2).sum()
    assert value == pytest.approx(slope)
    assert error == pytest.approx(np.sqrt((missed**2).sum() / 2 / spread))


@pytest.mark.parametrize("at", [2.5, 8.0, 19.9])
def test_powers_cross_where_they_are_equal(at):
    """5 x^2 and 5 at x: between values of x, and at one."""
    assert crossed(5 * X**2, 5 * at * X) == pytest.approx(at)


def test_what_does_not_cross_has_no_crossover():
    """Dearer from the start, cheaper to the end, or becoming cheaper."""
    assert crossed(X**2, X) is None
    assert crossed(X**2, 21 * X) is None
    assert crossed(9 * X, X**2) is None


def test_the_shortest_of_many_tries_counts(monkeypatch):
    """By a clock that shows what a call took: nothing of the first calls, of which one may be a slow one, is lost."""
    took, now = iter([5.0, 0.02, 0.04, 0.01, 0.03, 0.02, 9.0]), 0.0

    def call() -> None:
        nonlocal now
        now += next(took)

    monkeypatch.setattr(wall_time.time, "perf_counter", lambda: now)
    assert wall_time.shortest_seconds(call) == pytest.approx(0.01)
    assert list(took) == [0.02, 9.0], "as many as fit in a tenth of a second"


def test_a_slow_call_is_made_three_times(monkeypatch):
    took, now = iter([5.0, 4.0, 3.0, 2.0]), 0.0

    def call() -> None:
        nonlocal now
        now += next(took)

    monkeypatch.setattr(wall_time.time, "perf_counter", lambda: now)
    assert wall_time.shortest_seconds(call) == pytest.approx(3)


@pytest.mark.slow
def test_a_compiled_layer_runs_on_one_sequence():
    outputs = wall_time.compiled_layer(CONTIGUOUS, Sizes(n=5, d=4, k=2, r=2)).run()
    assert outputs.shape == (1, 5, 4)
    assert np.abs(outputs).max() > 0


@pytest.mark.slow
def test_a_compiled_gradient_is_by_the_sequence_and_the_parameters():
    parameters, x = wall_time.compiled_gradient(CONTIGUOUS, Sizes(n=5, d=4, k=2, r=2)).run()
    assert x.shape == (1, 5, 4)
    assert {leaf.shape for leaf in jax.tree.leaves(parameters)} == {(2, 4, 4), (4,)}
    assert all(np.abs(leaf).max() > 0 for leaf in (x, *jax.tree.leaves(parameters)))
