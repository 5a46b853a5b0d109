"""Intervals and tests against hand-worked values and worlds whose truth is known."""

import inspect
import math
from statistics import NormalDist

import numpy as np
import pytest

from transformer_jax.metrics import significance
from transformer_jax.metrics.bleu import ScoringError
from transformer_jax.metrics.significance import (
    Difference,
    Interval,
    bleu,
    mean_interval,
    paired_bleu_difference,
    unpaired_difference,
)


def statistics_of(fourgram_matches: np.ndarray) -> np.ndarray:
    """Of sentences of 1,003 tokens, all right but for some of their 1,000 4-grams: BLEU is 100 precision_4^(1/4)."""
    statistics = np.empty((*fourgram_matches.shape, 10), int)
    statistics[..., :8] = [1003, 1002, 1001, 0, 1003, 1002, 1001, 1000]
    statistics[..., 3] = fourgram_matches
    statistics[..., 8:] = 1003
    return statistics


def trained_systems(
    rng: np.random.Generator, *, seeds: int, sentences: int, precision: float, seed_spread: float, chance: float = 0.0
) -> np.ndarray:
    """4-gram precision is the sentence's plus the seed's plus chance, all normal: `precision` is its expectation."""
    quality = rng.normal(precision, 0.1, sentences) + rng.normal(0.0, seed_spread, (seeds, 1))
    quality += rng.normal(0.0, chance, (seeds, sentences))
    return statistics_of(np.rint(1000 * quality.clip(0, 1)).astype(int))


def width(estimate: Difference | Interval) -> float:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.high - estimate.low


def covers(difference: Difference, truth: float) -> bool:
    assert difference.low is not None
    assert difference.high is not None
    return difference.low <= truth <= difference.high


class TestMeanInterval:
    def test_by_hand(self):
        """Mean 27, s = 1, s / sqrt(3) = 0.57735; the table of Student's t has 4.303 for 2 degrees of freedom."""
        interval = mean_interval([26.0, 28.0, 27.0])
        assert (interval.mean, interval.count) == (27.0, 3)
        assert interval.high == pytest.approx(27 + 4.303 * 0.57735, abs=1e-3)
        assert interval.low == pytest.approx(27 - 4.303 * 0.57735, abs=1e-3)

    def test_two_seeds_by_hand(self):
        """The standard error is half the distance, and t is 12.706 for one degree of freedom."""
        assert width(mean_interval([5.0, 4.8])) == pytest.approx(2 * 12.706 * 0.1, rel=1e-4)

    def test_one_seed_has_none(self):
        assert mean_interval([27.3]) == Interval(27.3, None, None, 1)

    def test_equal_values(self):
        assert mean_interval([27.5, 27.5]) == Interval(27.5, 27.5, 27.5, 2)

    def test_no_seed_is_an_error(self):
        with pytest.raises(ValueError, match="at least one"):
            mean_interval([])


class TestUnpairedDifference:
    def test_by_hand(self):
        """Variances of the means 1/3 and 4/3: error sqrt(5/3), df = (5/3)^2 / ((1/3)^2 / 2 + (4/3)^2 / 2) = 2.941.

        Between the table's 4.303 for 2 and 3.182 for 3 degrees of freedom, near the latter.
        """
        difference = unpaired_difference([5.0, 6.0, 7.0], [1.0, 3.0, 5.0])
        assert difference.value == 3.0
        assert difference.seeds_counted
        assert 3.182 < width(difference) / 2 / math.sqrt(5 / 3) < 3.182 + 0.1 * (4.303 - 3.182)

    def test_two_seeds_a_side_by_hand(self):
        """Equal variances: df = 2, where Student's t has the closed form p = 1 - t / sqrt(2 + t^2)."""
        difference = unpaired_difference([4.0, 5.0], [1.0, 2.0])
        t = 3.0 / math.sqrt(0.5)
        assert difference.p_value == pytest.approx(1 - t / math.sqrt(2 + t * t), rel=1e-12)
        assert width(difference) == pytest.approx(2 * 4.30265 * math.sqrt(0.5), rel=1e-5)

    @pytest.mark.parametrize(("ours", "base"), [([4.0], [1.0, 2.0]), ([4.0, 5.0], [1.5]), ([4.0], [1.5])])
    def test_one_seed_says_nothing(self, ours: list[float], base: list[float]):
        difference = unpaired_difference(ours, base)
        assert difference == Difference(np.mean(ours) - np.mean(base), None, None, None, False)

    def test_without_any_spread(self):
        assert unpaired_difference([2.0, 2.0], [2.0, 2.0]) == Difference(0.0, 0.0, 0.0, 1.0, True)
        assert unpaired_difference([3.0, 3.0], [2.0, 2.0]) == Difference(1.0, 1.0, 1.0, 0.0, True)

    def test_no_seed_is_an_error(self):
        with pytest.raises(ValueError, match="at least one"):
            unpaired_difference([], [1.0, 2.0])


@pytest.fixture
def systems() -> tuple[np.ndarray, np.ndarray]:
    """Three seeds and two, on 47 sentences."""
    rng = np.random.default_rng(5)
    ours = trained_systems(rng, seeds=3, sentences=47, precision=0.52, seed_spread=0.01)
    return ours, trained_systems(rng, seeds=2, sentences=47, precision=0.5, seed_spread=0.01)


class TestPairedDifference:
    def test_a_system_against_itself(self, systems):
        for system in systems:
            difference = paired_bleu_difference(system, system)
            assert (difference.value, difference.p_value) == (0.0, 1.0)
            assert covers(difference, 0.0)
            assert width(difference) > 0.1, "other seeds would differ"

    def test_one_seed_against_itself_is_no_noise_at_all(self, systems):
        one = systems[0][:1]
        assert paired_bleu_difference(one, one) == Difference(0.0, 0.0, 0.0, 1.0, False)

    def test_antisymmetry(self, systems):
        there, back = paired_bleu_difference(*systems), paired_bleu_difference(*systems[::-1])
        assert there.value == -back.value != 0
        assert (there.low, there.high) == pytest.approx((-back.high, -back.low), rel=1e-9)
        assert there.p_value == pytest.approx(back.p_value, rel=1e-9)

    def test_the_order_of_seeds_is_nothing(self, systems):
        ours, base = systems
        turned, straight = paired_bleu_difference(ours[::-1], base), paired_bleu_difference(ours, base)
        assert width(turned) == pytest.approx(width(straight), rel=1e-9)

    def test_value_is_of_mean_scores(self, systems):
        ours, base = systems
        scores = [[float(bleu(seed.sum(0))) for seed in side] for side in systems]
        assert paired_bleu_difference(ours, base).value == pytest.approx(np.mean(scores[0]) - np.mean(scores[1]))

    def test_more_seeds_of_equal_spread_say_more(self):
        rng = np.random.default_rng(3)
        ours, base = (
            trained_systems(rng, seeds=3, sentences=47, precision=0.5, seed_spread=0.05) for _ in ("ours", "base")
        )
        few = paired_bleu_difference(ours, base)
        many = paired_bleu_difference(np.tile(ours, (5, 1, 1)), np.tile(base, (5, 1, 1)))
        assert many.value == pytest.approx(few.value)
        assert width(many) < 0.8 * width(few)

    def test_seeds_alone_are_welchs_test(self, systems):
        """Where all sentences are alike, resampling changes nothing."""
        ours, base = (np.repeat(statistics[:, :1], 13, axis=1) for statistics in systems)
        paired = paired_bleu_difference(ours, base)
        welch = unpaired_difference(bleu(ours.sum(1)).tolist(), bleu(base.sum(1)).tolist())
        assert (paired.low, paired.high, paired.p_value) == pytest.approx((welch.low, welch.high, welch.p_value))

    def test_sentences_alone_are_a_normal_interval(self, systems):
        """Equal seeds have no spread: 1.96 standard errors, as of one seed."""
        ours, base = (statistics[:1] for statistics in systems)
        one = paired_bleu_difference(ours, base)
        equal = paired_bleu_difference(np.repeat(ours, 2, axis=0), np.repeat(base, 3, axis=0))
        assert (equal.low, equal.high, equal.p_value) == pytest.approx((one.low, one.high, one.p_value))
        assert (one.seeds_counted, equal.seeds_counted) == (False, True)
        standard_errors = abs(one.value) / (width(one) / 2 / 1.959964)
        assert one.p_value == pytest.approx(2 * NormalDist().cdf(-standard_errors), rel=1e-5)

    @pytest.mark.parametrize(("ours_seeds", "base_seeds"), [(1, 1), (1, 2), (3, 1)])
    def test_one_seed_a_side_is_said(self, systems, ours_seeds: int, base_seeds: int):
        difference = paired_bleu_difference(systems[0][:ours_seeds], systems[1][:base_seeds])
        assert not difference.seeds_counted
        assert width(difference) > 0

    def test_one_sentence_says_nothing(self, systems):
        difference = paired_bleu_difference(*(statistics[:, :1] for statistics in systems))
        assert difference == Difference(difference.value, None, None, None, False)

    def test_other_sentences_are_an_error(self, systems):
        """As it is said where shapes are not checked, outside tests."""
        unchecked = inspect.unwrap(paired_bleu_difference)
        with pytest.raises(ScoringError, match="47 sentences against 46"):
            unchecked(systems[0], systems[1][:, 1:])

    def test_what_paired_sentences_share_cancels(self):
        """A system that is worse by as much on every sentence; then the same with the sentences in another order."""
        ours = trained_systems(np.random.default_rng(1), seeds=1, sentences=47, precision=0.5, seed_spread=0.0)
        worse = ours.copy()
        worse[..., 3] -= 20
        paired, shuffled = paired_bleu_difference(ours, worse), paired_bleu_difference(ours, worse[:, ::-1])
        assert paired.value == pytest.approx(shuffled.value)
        assert width(paired) < width(shuffled) / 10

    def test_seeds_of_the_bootstrap(self, systems):
        same, again, other = (paired_bleu_difference(*systems, seed=seed) for seed in (1, 1, 2))
        assert same == again != other
        assert width(same) == pytest.approx(width(other), rel=0.1)

    def test_chunks_do_not_show(self, systems, monkeypatch: pytest.MonkeyPatch):
        whole = paired_bleu_difference(*systems, samples=101)
        monkeypatch.setattr(significance, "_CHUNK", 7)
        assert paired_bleu_difference(*systems, samples=101) == whole


class TestCoverage:
    """Sets of systems from a world whose truth is known, drawn again and again, each with its interval."""

    WORLDS, SENTENCES = 300, 53

    def share(self, *, seeds: tuple[int, int], seed_spread: float, chance: float = 0.0) -> float:
        """Of the intervals, those that hold the truth: E[q^(1/4)] over seeds, ours being right in 0.01 more."""
        rng = np.random.default_rng(11)
        spread = rng.normal(0.0, seed_spread, 100_000)
        truth = 100 * float(np.mean((0.51 + spread) ** 0.25 - (0.5 + spread) ** 0.25))
        covered = 0
        for world in range(self.WORLDS):
            ours, base = (
                trained_systems(
                    rng, seeds=n, sentences=self.SENTENCES, precision=mean, seed_spread=seed_spread, chance=chance
                )
                for n, mean in zip(seeds, (0.51, 0.5), strict=True)
            )
            covered += covers(paired_bleu_difference(ours, base, samples=200, seed=world), truth)
        return covered / self.WORLDS

    @pytest.mark.parametrize(("seeds", "seed_spread"), [((2, 5), 0.0), ((2, 5), 0.01), ((3, 3), 0.01), ((3, 3), 0.05)])
    def test_nineteen_intervals_in_twenty_hold_the_truth(self, seeds: tuple[int, int], seed_spread: float):
        """Three standard errors of the share are 3.8 %. At 0.05 seeds are most of the variance, at 0.0 none."""
        assert 0.912 <= self.share(seeds=seeds, seed_spread=seed_spread) <= 0.988

    def test_chance_makes_them_no_narrower_than_they_should_be(self):
        assert self.share(seeds=(3, 3), seed_spread=0.01, chance=0.2) > 0.95

    def test_sentences_alone_do_not_speak_for_other_seeds(self):
        """What `seeds_counted` warns of."""
        assert self.share(seeds=(1, 1), seed_spread=0.0) > 0.912
        assert self.share(seeds=(1, 1), seed_spread=0.05) < 0.7
