"""Systems that differ by noise alone are not told apart, and those that differ are."""

import random

import numpy as np
import pytest
from scipy import stats

from experiments.comparison.paired_tests import paired_tests, randomisation_with_ties
from experiments.comparison.run import ComparisonError
from experiments.comparison.scored_text import ScoredText, TextsOfSplit
from experiments.comparison.scores import tests_section as section_of
from experiments.comparison.scores import verdict
from transformer_jax.data.corpus import Corpus
from transformer_jax.metrics.significance import bleu, sentence_statistics

TRIALS = 2_000  # a fifth of what the command does, to be quick
WORDS = [f"w{number}" for number in range(199)]
DRAW = random.Random(0)
REFERENCES = [" ".join(DRAW.choices(WORDS, k=DRAW.randint(4, 19))) for _ in range(83)]


def system(seed: int, rate: float) -> list[str]:
    """Translations with `rate` of the words wrong, by chance: the seed is all that systems of one rate differ in."""
    chance = random.Random(seed)
    return [
        " ".join(chance.choice(WORDS) if chance.random() < rate else word for word in line.split())
        for line in REFERENCES
    ]


def statistics(*systems: list[str]):
    return tuple(sentence_statistics(each, REFERENCES, tokenizer="none") for each in systems)


def outcome(a: list[str], b: list[str]):
    return paired_tests(a, b, REFERENCES, statistics(a, b), tokenizer="none", samples=500, trials=TRIALS)


@pytest.fixture(scope="module")
def noise():
    return [outcome(system(2 * seed, 0.2), system(2 * seed + 1, 0.2)) for seed in range(1, 21)]


def test_at_least_18_of_20_pairs_that_differ_by_noise_are_not_told_apart(noise):
    assert len({pair.difference.value for pair in noise}) == 20
    assert sum(pair.p_value > 0.05 for pair in noise) >= 18
    assert all(("cannot be told apart" in verdict(pair)) == (pair.p_value > 0.05) for pair in noise)


def test_the_p_values_of_noise_are_spread(noise):
    """Uniform, as p-values of no difference should be; they would all be near one if the test saw nothing."""
    values = [pair.p_values["approximate randomisation, ties counted"] for pair in noise]
    assert stats.kstest(values, "uniform").pvalue > 1e-4


@pytest.mark.parametrize(("rates", "better"), [((0.2, 0.4), "A"), ((0.4, 0.2), "B")])
def test_a_real_difference_is_told(rates, better):
    pair = outcome(*(system(seed, rate) for seed, rate in enumerate(rates)))
    assert pair.better == better
    assert max(pair.p_values.values()) < 0.01
    assert verdict(pair).startswith(f"{better} is better than {'AB'.replace(better, '')} by ")
    ours, theirs = (float(bleu(each.sum(0))) for each in statistics(*map(system, range(2), rates)))
    assert pair.difference.value == pytest.approx(theirs - ours)


def test_ties_counted_agrees_with_sacrebleu_where_there_are_none(noise):
    for pair in noise:
        ours, theirs = (pair.p_values[f"approximate randomisation{end}"] for end in (", ties counted", ""))
        assert ours == pytest.approx(theirs, abs=4 * np.sqrt(2 * 0.25 / TRIALS))


def spoiled(*lines: int) -> list[str]:
    """Translations that are right but for the first word of these lines, all of one length."""
    return ["x b c d e f g" if number in lines else "a b c d e f g" for number in range(41)]


@pytest.mark.parametrize(("wins", "losses"), [(1, 0), (2, 0), (5, 0), (6, 0), (8, 2), (11, 2), (9, 9)])
def test_where_all_differences_are_alike_it_is_the_sign_test(wins, losses):
    """Sentences that one system spoils in the same way: only their number counts."""
    a, b = spoiled(*range(wins)), spoiled(*range(wins, wins + losses))
    right = ["a b c d e f g"] * 41
    ours, theirs = (sentence_statistics(each, right, tokenizer="none") for each in (a, b))
    exact = stats.binomtest(wins, wins + losses).pvalue
    assert randomisation_with_ties(ours, theirs, seed=7, trials=10_000) == pytest.approx(
        exact, abs=4 * np.sqrt(0.25 / 10_000)
    )


def test_one_sentence_is_no_evidence():
    """sacreBLEU's own randomisation finds p = 0.0001 here: no swap gives a greater difference."""
    right = ["a b c d e f g"] * 41
    texts = [sentence_statistics(each, right, tokenizer="none") for each in (spoiled(3), right)]
    pair = paired_tests(spoiled(3), right, right, (texts[0], texts[1]), tokenizer="none")
    assert pair.p_values["approximate randomisation"] < 0.001
    assert pair.p_value == 1.0
    assert pair.better is None


def test_results_repeat_and_the_seed_is_that_of_the_environment(monkeypatch):
    a, b = system(1, 0.2), system(2, 0.2)
    first, again = outcome(a, b), outcome(a, b)
    assert first == again
    assert all("seed:12345" in signature for signature in first.signatures)
    monkeypatch.setenv("SACREBLEU_SEED", "77")
    other = outcome(a, b)
    assert other.p_values != first.p_values
    assert all("seed:77" in signature for signature in other.signatures)


@pytest.mark.parametrize("seed", ["none", "0", "-3", "1.5", ""])
def test_a_seed_that_would_not_repeat_is_refused(monkeypatch, seed):
    monkeypatch.setenv("SACREBLEU_SEED", seed)
    with pytest.raises(ComparisonError, match=f"SACREBLEU_SEED={seed}: must be a whole number above 0"):
        outcome(system(1, 0.2), system(2, 0.2))


def test_the_section_says_what_was_tested_and_what_was_not():
    a, b = system(5, 0.2), system(6, 0.2)
    texts = TextsOfSplit(Corpus("made up", REFERENCES, REFERENCES), np.array([len(line) for line in REFERENCES]))
    ours, theirs = (
        ScoredText(label, each, counts, "none", 0)
        for label, each, counts in zip("AB", (a, b), statistics(a, b), strict=True)
    )
    found = section_of(ours, theirs, texts)
    pair = paired_tests(a, b, REFERENCES, statistics(a, b), tokenizer="none")
    assert found.startswith(f"A and B cannot be told apart by BLEU (p = {pair.p_value:.4f}, above 0.05).")
    for name, value in pair.p_values.items():
        assert f"| {name:<39} | {value:>6.4f} |" in found
    assert "bs:1000" in found
    assert "ar:10000" in found
    assert "not of other seeds" in found
    assert f"B − A: {pair.difference.value:+.2f} BLEU, 95 % interval" in found
