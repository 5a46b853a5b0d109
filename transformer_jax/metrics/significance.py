"""Is a difference more than noise? Intervals over seeds, and a paired bootstrap over the sentences of a test set.

A table of trained systems has two independent sources of variance: which sentences the test set happens to hold, and
which seeds happened to be trained. The first is estimated by resampling sentences (Koehn 2004), the second from the
spread of the seeds' scores; a standard error is the root of their sum. Its degrees of freedom are Welch's and
Satterthwaite's:

    df = (sum_k v_k)^2 / sum_k (v_k^2 / df_k)

over the parts v_k of the variance: s^2 / n with df_k = n - 1 for the n seeds of each side, and the bootstrap's with
df_k = infinity, so that it adds nothing below the line. Seeds never trained cannot be known from one: with one seed on
a side the interval speaks of the sentences alone, and says so.

What a seed does to a sentence by chance moves both parts and so counts twice: intervals err on the wide side.

A perplexity is exp(loss), and it is losses that are averaged over seeds, given intervals and tested: means of
perplexities are geometric, comparisons are ratios, and no interval reaches 0. A loss of a word instead of a piece is a
constant times it, so that perplexities become powers of these; what is significant stays so.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Num
from scipy import stats

from transformer_jax.metrics.bleu import ScoringError, bleu_metric

_CONFIDENCE = 0.95
_ORDERS = 4  # BLEU's n-grams
_CHUNK = 100  # resampled test sets at hand at a time


@dataclass(frozen=True)
class Interval:
    """A mean over seeds and its 95 % interval; without an interval where there is one seed only."""

    mean: float  # arithmetic, or geometric
    low: float | None
    high: float | None
    count: int  # seeds


@dataclass(frozen=True)
class Comparison:
    """Ours against the other's, with its 95 % interval and two-sided p-value; all None where nothing can be said."""

    value: float
    low: float | None
    high: float | None
    p_value: float | None
    seeds_counted: bool  # False: the interval, if any, is that of these very seeds on other sentences

    equality: ClassVar[float]  # the value where both sides are equal


class Difference(Comparison):
    """Ours minus the other's."""

    equality = 0.0


class Ratio(Comparison):
    """Ours divided by the other's."""

    equality = 1.0


class _Part(NamedTuple):
    """A part of a variance, and how well it is known."""

    variance: float
    degrees_of_freedom: float


def sentence_statistics(
    hypotheses: Sequence[str], references: Sequence[str], *, tokenizer: str
) -> Int[np.ndarray, "sentences 10"]:
    """What corpus BLEU is a function of, summed over sentences: a row holds the matches of 1- to 4-grams, the n-grams
    of the hypothesis, the hypothesis's length and the reference's.

    Raises ScoringError for unequal counts, no lines at all, or an unknown tokeniser.
    """
    if len(hypotheses) != len(references) or not references:
        raise ScoringError(f"{len(hypotheses)} hypotheses, {len(references)} references: counts must be equal, above 0")
    metric = bleu_metric(tokenizer)
    scores = [metric.corpus_score([ours], [[theirs]]) for ours, theirs in zip(hypotheses, references, strict=True)]
    return np.array([[*score.counts, *score.totals, score.sys_len, score.ref_len] for score in scores])


def bleu(statistics: Num[np.ndarray, "*systems 10"]) -> Float[np.ndarray, "*systems"]:
    """Corpus BLEU, 0 to 100, of statistics summed over sentences.

    As in `corpus_bleu`, the k-th order without a match counts 2^-k matches; no match at all, or no n-gram of some
    order, is BLEU 0.
    """
    matches, totals = statistics[..., :_ORDERS], statistics[..., _ORDERS : 2 * _ORDERS]
    hypothesis_length, reference_length = statistics[..., -2], statistics[..., -1]
    smoothed = np.where(matches == 0, 0.5 ** np.cumsum(matches == 0, axis=-1), matches)
    log_precisions = np.log(smoothed / np.maximum(totals, 1)).mean(-1)
    log_brevity = np.minimum(0.0, 1.0 - reference_length / np.maximum(hypothesis_length, 1))
    defined = matches.any(-1) & totals.all(-1)
    return np.where(defined, 100.0 * np.exp(log_precisions + log_brevity), 0.0)


def mean_interval(values: Sequence[float]) -> Interval:
    """The mean over seeds, and Student's interval of it. Raises ValueError without a value."""
    mean = _mean(values)
    if len(values) == 1:
        return Interval(mean, None, None, 1)
    return Interval(mean, *_interval(mean, _seeds_part(values)), len(values))


def geometric_mean_interval(values: Sequence[float]) -> Interval:
    """The geometric mean over seeds, as of perplexities, and its interval: exp of the logarithms' mean and Student's.

    Bounds are above 0, however few the seeds. Raises ValueError without a value, or for one that is not above 0.
    """
    logs = mean_interval(_logs(values))
    return Interval(_exp(logs.mean), _exp_bound(logs.low), _exp_bound(logs.high), logs.count)


def paired_bleu_difference(
    ours: Int[np.ndarray, "seeds sentences 10"],
    base: Int[np.ndarray, "other_seeds sentences 10"],
    *,
    samples: int = 1000,
    seed: int = 12345,
) -> Difference:
    """BLEU of ours minus that of base, each the mean over its seeds, on one test set.

    With two seeds or more on both sides the interval covers other sentences and other seeds; otherwise other sentences
    alone, of which there must be at least two to say anything.

    Args:
      ours: `sentence_statistics` of each seed's translations.
      base: the same of the same sentences, of any number of seeds.
      samples: resampled test sets.
      seed: of the resampling; equal seeds resample alike, whatever the systems.

    Raises ScoringError for unequal numbers of sentences.
    """
    if ours.shape[1] != base.shape[1]:
        raise ScoringError(f"{ours.shape[1]} sentences against {base.shape[1]}: both sides must be of one test set")
    our_scores, base_scores = bleu(ours.sum(1)), bleu(base.sum(1))
    value = float(our_scores.mean() - base_scores.mean())
    if ours.shape[1] < 2:
        return Difference(value, None, None, None, False)
    resampled = _resampled_bleu(np.concatenate([ours, base]), samples, seed)
    differences = resampled[:, : len(ours)].mean(1) - resampled[:, len(ours) :].mean(1)
    sentences_part = _Part(float(differences.var(ddof=1)), math.inf)
    if min(len(ours), len(base)) < 2:
        return _tested(value, [sentences_part], seeds_counted=False)
    return _tested(value, [sentences_part, _seeds_part(our_scores), _seeds_part(base_scores)], seeds_counted=True)


def unpaired_difference(ours: Sequence[float], base: Sequence[float]) -> Difference:
    """Welch's test of the means over seeds; nothing but the value with one seed on a side.

    Raises ValueError without a value.
    """
    value = _mean(ours) - _mean(base)
    if min(len(ours), len(base)) < 2:
        return Difference(value, None, None, None, False)
    return _tested(value, [_seeds_part(ours), _seeds_part(base)], seeds_counted=True)


def unpaired_ratio(ours: Sequence[float], base: Sequence[float]) -> Ratio:
    """The ratio of geometric means over seeds, as of perplexities, by Welch's test of the logarithms.

    Nothing but the value with one seed on a side. Raises ValueError without a value, or for one that is not above 0.
    """
    logs = unpaired_difference(_logs(ours), _logs(base))
    return Ratio(_exp(logs.value), _exp_bound(logs.low), _exp_bound(logs.high), logs.p_value, logs.seeds_counted)


def _logs(values: Sequence[float]) -> list[float]:
    if any(value <= 0 for value in values):
        raise ValueError(f"{values}: a geometric mean needs values above 0")
    return [math.log(value) for value in values]


def _exp(log: float) -> float:
    """Infinity for what is too large: the interval of few seeds, of which one has gone astray, can be so wide."""
    with np.errstate(over="ignore"):
        return float(np.exp(log))


def _exp_bound(log: float | None) -> float | None:
    return None if log is None else _exp(log)


def _mean(values: Sequence[float]) -> float:
    if not values:
        raise ValueError("no values: a mean needs at least one")
    return float(np.mean(values))


def _resampled_bleu(
    systems: Int[np.ndarray, "systems sentences 10"], samples: int, seed: int
) -> Float[np.ndarray, "{samples} systems"]:
    """BLEU of every system on test sets of as many sentences, drawn with replacement, the same ones for all."""
    count, sentences, width = systems.shape
    flat = systems.transpose(1, 0, 2).reshape(sentences, -1).astype(np.float64)  # sums of integers stay exact
    random = np.random.default_rng(seed)
    scores = []
    for start in range(0, samples, _CHUNK):
        size = min(_CHUNK, samples - start)
        times_drawn = random.multinomial(sentences, np.full(sentences, 1 / sentences), size=size).astype(np.float64)
        scores.append(bleu((times_drawn @ flat).reshape(size, count, width)))
    return np.concatenate(scores)


def _seeds_part(scores: Sequence[float] | Float[np.ndarray, "seeds"]) -> _Part:
    """The variance of a mean over seeds."""
    return _Part(float(np.var(scores, ddof=1)) / len(scores), len(scores) - 1)


def _total(parts: Sequence[_Part]) -> _Part:
    """The sum of independent parts, with Welch's and Satterthwaite's degrees of freedom."""
    variance = sum(part.variance for part in parts)
    below = sum(part.variance**2 / part.degrees_of_freedom for part in parts)
    return _Part(variance, variance**2 / below if below else math.inf)


def _interval(value: float, error: _Part) -> tuple[float, float]:
    quantile = float(stats.t.ppf((1 + _CONFIDENCE) / 2, error.degrees_of_freedom))
    half_width = quantile * math.sqrt(error.variance)
    return value - half_width, value + half_width


def _tested(value: float, parts: Sequence[_Part], *, seeds_counted: bool) -> Difference:
    """`value` with its interval, and tested against the hypothesis that there is no difference."""
    error = _total(parts)
    if error.variance == 0:
        return Difference(value, value, value, float(value == 0), seeds_counted)
    p_value = 2 * float(stats.t.sf(abs(value) / math.sqrt(error.variance), error.degrees_of_freedom))
    return Difference(value, *_interval(value, error), p_value, seeds_counted)
