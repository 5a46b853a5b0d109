"""Perplexities are averaged, given intervals and compared as the losses that they are the exponentials of."""

import math

import numpy as np
import pytest
from scipy import stats

from transformer_jax.metrics.significance import (
    Comparison,
    Interval,
    Ratio,
    geometric_mean_interval,
    mean_interval,
    unpaired_ratio,
)


def ends(estimate: Interval | Comparison) -> tuple[float, float, float]:
    """Low, the mean or the value, high: of an estimate that has an interval."""
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.low, estimate.mean if isinstance(estimate, Interval) else estimate.value, estimate.high


def perplexities(seed: int, count: int, spread: float = 1.0) -> list[float]:
    """Above 1, as perplexities are."""
    return np.exp(np.abs(np.random.default_rng(seed).normal(1.5, spread, count)) + 0.01).tolist()


class TestGeometricMeanInterval:
    def test_by_hand(self):
        """Logarithms to base 2 are 1, 2, 3: mean 2, standard error 1 / sqrt(3); t is 4.303 for 2 degrees of freedom."""
        low, mean, high = ends(geometric_mean_interval([2.0, 8.0, 4.0]))
        assert mean == pytest.approx(4)
        assert math.log2(low) == pytest.approx(2 - 4.303 / math.sqrt(3), abs=1e-3)
        assert math.log2(high) == pytest.approx(2 + 4.303 / math.sqrt(3), abs=1e-3)

    @pytest.mark.parametrize("count", [2, 3, 11])
    def test_as_scipy_has_it(self, count: int):
        values = perplexities(count, count)
        interval = geometric_mean_interval(values)
        theirs = np.exp(stats.ttest_1samp(np.log(values), 0).confidence_interval(0.95))
        assert ends(interval) == pytest.approx((theirs[0], stats.gmean(values), theirs[1]))
        assert interval.count == count

    @pytest.mark.parametrize("seed", range(10))
    def test_no_bound_is_below_nought_however_far_seeds_are(self, seed: int):
        values = perplexities(seed, 2, spread=3.0)
        low, mean, high = ends(geometric_mean_interval(values))
        assert 0 < low < min(values) < mean < max(values) < high
        assert mean < np.mean(values)

    def test_seeds_that_lag_do_not_make_a_perplexity_impossible(self):
        """Perplexities that were measured: the interval of their arithmetic mean, 10.8, begins below -4."""
        values = [17.559, 9.483, 5.322]
        assert ends(mean_interval(values))[0] < -4
        assert ends(geometric_mean_interval(values)) == pytest.approx((2.18, 9.60, 42.3), rel=1e-2)

    @pytest.mark.parametrize("factor", [0.01, 3.0])
    def test_it_goes_with_the_scale(self, factor: float):
        values = perplexities(1, 3)
        scaled = geometric_mean_interval([factor * value for value in values])
        assert ends(scaled) == pytest.approx([factor * end for end in ends(geometric_mean_interval(values))])

    def test_of_words_instead_of_pieces(self):
        """A word of 1.7 pieces: the loss is 1.7 times as large, perplexities are powers, and so are mean and bounds."""
        values = perplexities(2, 3)
        of_words = geometric_mean_interval([value**1.7 for value in values])
        assert ends(of_words) == pytest.approx([end**1.7 for end in ends(geometric_mean_interval(values))])

    def test_equal_seeds_are_a_point(self):
        assert ends(geometric_mean_interval([4.9, 4.9, 4.9])) == pytest.approx((4.9, 4.9, 4.9), rel=1e-12)

    def test_one_seed_has_none(self):
        interval = geometric_mean_interval([4.9])
        assert interval == Interval(interval.mean, None, None, 1)
        assert interval.mean == pytest.approx(4.9)

    def test_what_is_too_large_for_a_float_is_infinite(self):
        low, mean, high = ends(geometric_mean_interval([3.0, 1e200]))
        assert 0 <= low < mean < high == math.inf

    @pytest.mark.parametrize(
        ("values", "problem"), [([], "at least one"), ([2.0, 0.0], "above 0"), ([-1.0], "above 0")]
    )
    def test_what_has_no_geometric_mean_is_an_error(self, values: list[float], problem: str):
        with pytest.raises(ValueError, match=problem):
            geometric_mean_interval(values)


class TestUnpairedRatio:
    def test_by_hand(self):
        """Logarithms to base 2 are 3 and 5 against 1 and 3, with variances of the means of 1 each.

        The difference is 2, its error sqrt(2), df = 2, where p = 1 - t / sqrt(2 + t^2), and the table has 4.303.
        """
        ratio = unpaired_ratio([8.0, 32.0], [2.0, 8.0])
        low, value, high = ends(ratio)
        assert value == pytest.approx(4)
        assert (math.log2(low), math.log2(high)) == pytest.approx((2 - 4.303 * 2**0.5, 2 + 4.303 * 2**0.5), abs=1e-3)
        assert ratio.p_value == pytest.approx(1 - 2**0.5 / 2)
        assert ratio.seeds_counted

    @pytest.mark.parametrize(("ours", "base"), [(2, 3), (3, 3), (7, 2)])
    def test_it_is_welchs_test_of_the_losses(self, ours: int, base: int):
        sides = perplexities(ours, ours), perplexities(10 + base, base, 0.2)
        ratio = unpaired_ratio(*sides)
        welch = stats.ttest_ind(*map(np.log, sides), equal_var=False)
        low, high = np.exp(welch.confidence_interval(0.95))
        assert ends(ratio) == pytest.approx((low, stats.gmean(sides[0]) / stats.gmean(sides[1]), high))
        assert ratio.p_value == pytest.approx(welch.pvalue)

    @pytest.mark.parametrize("seed", range(10))
    def test_p_is_below_a_twentieth_where_the_interval_leaves_out_equality(self, seed: int):
        ratio = unpaired_ratio(perplexities(seed, 3, 0.2), perplexities(100 + seed, 3, 0.2))
        low, _, high = ends(ratio)
        assert ratio.p_value is not None
        assert (ratio.p_value < 0.05) == (low > Ratio.equality or high < Ratio.equality)

    def test_the_other_way_round_it_is_the_inverse(self):
        ours, base = perplexities(1, 3), perplexities(2, 5)
        there, back = unpaired_ratio(ours, base), unpaired_ratio(base, ours)
        assert ends(there) == pytest.approx([1 / end for end in reversed(ends(back))])
        assert there.p_value == pytest.approx(back.p_value)

    def test_it_goes_with_our_scale_and_a_common_one_is_nothing(self):
        ours, base = perplexities(1, 3), perplexities(2, 3)
        ratio = unpaired_ratio(ours, base)
        scaled_ours, scaled_base = ([2.5 * value for value in side] for side in (ours, base))
        assert ends(unpaired_ratio(scaled_ours, base)) == pytest.approx([2.5 * end for end in ends(ratio)])
        both = unpaired_ratio(scaled_ours, scaled_base)
        assert (*ends(both), both.p_value) == pytest.approx((*ends(ratio), ratio.p_value))

    def test_words_instead_of_pieces_are_as_significant(self):
        sides = perplexities(1, 3), perplexities(2, 3)
        of_words = unpaired_ratio(*([value**1.7 for value in side] for side in sides))
        assert of_words.p_value == pytest.approx(unpaired_ratio(*sides).p_value)

    @pytest.mark.parametrize(("ours", "base"), [([6.0], [4.0, 9.0]), ([4.0, 9.0], [6.0]), ([6.0], [6.0])])
    def test_one_seed_says_nothing(self, ours: list[float], base: list[float]):
        ratio = unpaired_ratio(ours, base)
        assert ratio == Ratio(ratio.value, None, None, None, False)
        assert ratio.value == pytest.approx(1)

    def test_without_any_spread(self):
        assert unpaired_ratio([2.0, 2.0], [2.0, 2.0]) == Ratio(1.0, 1.0, 1.0, 1.0, True)
        ratio = unpaired_ratio([3.0, 3.0], [2.0, 2.0])
        assert (*ends(ratio), ratio.p_value) == (*[pytest.approx(1.5)] * 3, 0.0)

    def test_what_has_no_logarithm_is_an_error(self):
        with pytest.raises(ValueError, match="above 0"):
            unpaired_ratio([2.0, 3.0], [0.0, 1.0])
