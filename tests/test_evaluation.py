"""What an evaluation says of the search, from hypotheses and forced references that are made up."""

import dataclasses
import math

import pytest
from tiny_experiment import encoded, tiny_experiment

from transformer_jax.data.encoded import EncodedCorpus
from transformer_jax.decoding.forced import Forced
from transformer_jax.decoding.generate import Hypothesis
from transformer_jax.evaluation import SearchReport, perplexity, search_errors, search_report
from transformer_jax.metrics.length_ratio import LengthRatio

EXPERIMENT = tiny_experiment(max_extra_length=1, min_length_ratio=0.5)  # 31 at most
SOURCE = [5, 6, 7]  # 4 tokens with its end: hypotheses of 2 to 4 tokens and their end


def errors(target, reference_score, best, *, source=SOURCE, experiment=EXPERIMENT):
    pair = EncodedCorpus(encoded([source]), encoded([target]))
    return search_errors(experiment, pair, [best], [Forced(-9.0, reference_score, [])])


@pytest.mark.parametrize(
    ("target", "score", "best", "count"),
    [
        ([8, 9], -1.0, Hypothesis([8], -1.5, -9.0, True), 1),
        ([8, 9], -1.5, Hypothesis([8], -1.5, -9.0, True), 0),
        ([8, 9], -2.0, Hypothesis([8], -1.5, -9.0, True), 0),
        ([8, 9], -1.0, Hypothesis([8, 9], -1.00001, -9.0, True), 0),  # the same: a rounding error is none
        ([8, 9], -1.0, Hypothesis([8, 9], -1.5, -9.0, False), 1),  # without its end it is another
        ([8, 9], -1.0, Hypothesis([], -math.inf, -math.inf, False), 1),  # nothing was found
        ([8, 9, 10, 11], -1.0, Hypothesis([8], -1.5, -9.0, True), 1),
        ([8, 9, 10, 11, 12], -1.0, Hypothesis([8], -1.5, -9.0, True), 0),  # too long to be found
        ([8], -1.0, Hypothesis([8, 9], -1.5, -9.0, True), 0),  # too short
    ],
)
def test_a_search_error_is_a_better_reference_within_the_limits(target, score, best, count):
    assert errors(target, score, best) == count


def test_the_limit_is_the_model_s_where_that_is_less():
    best, target = Hypothesis([8], -1.5, -9.0, True), list(range(4, 34))
    assert errors(target, -1.0, best, source=target) == 1  # 30 and the end
    shorter = dataclasses.replace(EXPERIMENT, model=dataclasses.replace(EXPERIMENT.model, max_length=30))
    assert errors(target, -1.0, best, source=target, experiment=shorter) == 0


def test_of_a_split_errors_and_lengths_are_told_pair_by_pair():
    """Lengths are without end tokens."""
    sources, targets = [[5] * 10, [5] * 11, [5] * 2], [[8] * 8, [8] * 4, []]
    corpus = EncodedCorpus(encoded(sources), encoded(targets))
    hypotheses = [
        Hypothesis([8] * 6, -2.0, -4.0, True),
        Hypothesis([8] * 5, -2.0, -4.0, True),
        Hypothesis([], 0, 0, True),
    ]
    wide = tiny_experiment(max_extra_length=5)
    report = search_report(
        wide, corpus, hypotheses, [Forced(-3.0, -1.0, []), Forced(-9.0, -3.0, []), Forced(-1.0, -1.0, [])]
    )
    assert report == SearchReport(1, 11 / 12, [LengthRatio(0, 10, 2, 6 / 8), LengthRatio(11, 20, 1, 5 / 4)])


def test_perplexity_is_of_all_tokens_alike():
    pairs = [Forced(-3.0, 0.0, [-1.0, -2.0]), Forced(-0.5, 0.0, [-0.5])]
    assert perplexity(pairs) == pytest.approx(math.exp(3.5 / 3))
    assert perplexity([Forced(-2000.0, 0.0, [-1000.0, -1000.0])]) == math.inf
