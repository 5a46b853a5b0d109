"""BLEU from sentences' statistics, and the paired bootstrap on them, against sacreBLEU."""

import math
import random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from transformer_jax.metrics.bleu import ScoringError, corpus_bleu
from transformer_jax.metrics.significance import bleu, paired_bleu_difference, sentence_statistics

REFERENCES = ["A man, tall, rides a red bike.", "Two dogs run.", "No", "He isn't in the snow; she is!", "Yes."]
HYPOTHESES = ["A man rides a red, red bike.", "Two dogs run.", "", "He is not in the snow she is", "dogs"]


def made_up_texts(sentences: int, seed: int) -> tuple[list[str], list[str]]:
    """Sentences of common and rare words, and copies in which one word in six is another."""
    draw = random.Random(seed)
    words = [f"w{min(draw.randrange(1, 60), draw.randrange(1, 60))}" for _ in range(1000)]
    references = [" ".join(draw.choices(words, k=draw.randrange(3, 30))) for _ in range(sentences)]
    damaged = [
        " ".join(draw.choice(words) if draw.random() < 1 / 6 else word for word in line.split()) for line in references
    ]
    return damaged, references


class TestStatistics:
    @pytest.mark.parametrize("tokenizer", ["13a", "none", "char"])
    def test_their_sum_is_corpus_bleu(self, tokenizer: str):
        metric = BLEU(tokenize=tokenizer)
        for hypotheses, references in [(HYPOTHESES, REFERENCES), made_up_texts(53, seed=1)]:
            whole = metric.corpus_score(hypotheses, [references])
            total = sentence_statistics(hypotheses, references, tokenizer=tokenizer).sum(0)
            assert total.tolist() == [*whole.counts, *whole.totals, whole.sys_len, whole.ref_len]
            score = corpus_bleu(hypotheses, references, tokenizer=tokenizer).value
            assert bleu(total) == pytest.approx(score, rel=1e-13)
            assert score > 10.0

    def test_a_sentence_counted_by_hand(self):
        statistics = sentence_statistics(["a b c d b", ""], ["a b c e", "a"], tokenizer="none")
        assert statistics.tolist() == [[3, 2, 1, 0, 5, 4, 3, 2, 5, 4], [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]]

    def test_no_warning_is_logged(self, caplog: pytest.LogCaptureFixture):
        sentence_statistics(HYPOTHESES, REFERENCES, tokenizer="13a")
        assert caplog.records == []

    def test_texts_that_cannot_be_scored(self):
        with pytest.raises(ScoringError, match="2 hypotheses, 1 references"):
            sentence_statistics(["a", "b"], ["a"], tokenizer="13a")
        with pytest.raises(ScoringError, match="0 hypotheses, 0 references"):
            sentence_statistics([], [], tokenizer="13a")
        with pytest.raises(ScoringError, match="'13b'"):
            sentence_statistics(["a"], ["a"], tokenizer="13b")


class TestBleu:
    @pytest.mark.parametrize("most", [2, 5, 300])
    def test_equals_sacrebleu(self, most: int):
        """Small numbers are zero often: orders without matches, without n-grams, and empty hypotheses."""
        rng = np.random.default_rng(most)
        totals = np.sort(rng.integers(0, most, (7, 43, 4)))[..., ::-1]
        matches = rng.integers(0, totals + 1)
        lengths = np.stack([totals[..., 0], rng.integers(1, most + 1, (7, 43))], -1)
        statistics = np.concatenate([matches, totals, lengths], -1)
        expected = [
            BLEU.compute_bleu(row[:4].tolist(), row[4:8].tolist(), int(row[8]), int(row[9]), smooth_method="exp").score
            for row in statistics.reshape(-1, 10)
        ]
        np.testing.assert_allclose(bleu(statistics).ravel(), expected, rtol=1e-13, atol=0)
        assert 0 < np.count_nonzero(expected) < len(expected) or most == 300

    def test_by_hand(self):
        """Precisions 4/5, 2/4, then none of 3 and 2: 1/2 and 1/4 of a match; 5 tokens against 6."""
        expected = 100 * math.exp(1 - 6 / 5) * (4 / 5 * 2 / 4 * 0.5 / 3 * 0.25 / 2) ** (1 / 4)
        assert bleu(np.array([4, 2, 0, 0, 5, 4, 3, 2, 5, 6])) == pytest.approx(expected, rel=1e-14)


def test_agrees_with_sacrebleus_bootstrap():
    """The reference itself scores 100 on any sentences: the difference from it varies as the score alone does.

    sacreBLEU's half-width is one of percentiles, whose own error with 1,000 samples is about 4 %. Its p-value asks in
    one direction only.
    """
    hypotheses, references = made_up_texts(97, seed=2)
    lines = list(enumerate(zip(hypotheses, references, strict=True)))
    worse = [right if index % 5 == 1 else ours for index, (ours, right) in lines]
    better = [right if index % 3 == 0 else ours for index, (ours, right) in lines]
    named = [("worse", worse), ("better", better)]
    _, results = PairedTest(named, {"BLEU": BLEU()}, [references], test_type="bs", n_samples=1000)()
    statistics = {
        name: sentence_statistics(lines, references, tokenizer="13a")[None]
        for name, lines in [*named, ("right", references)]
    }
    for (name, _), theirs in zip(named, results["BLEU"], strict=True):
        ours = paired_bleu_difference(statistics[name], statistics["right"])
        assert ours.value == pytest.approx(theirs.score - 100)
        assert (ours.high - ours.low) / 2 == pytest.approx(theirs.ci, rel=0.12)
    difference = paired_bleu_difference(statistics["better"], statistics["worse"])
    assert difference.p_value / 2 == pytest.approx(results["BLEU"][1].p_value, abs=0.03)
