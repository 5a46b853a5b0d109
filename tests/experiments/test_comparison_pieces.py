"""The pieces of a comparison that need no run: lengths, sentences, tables."""

import itertools

import numpy as np
import pytest
from sacrebleu.metrics import CHRF

from experiments.comparison.lengths import buckets, lengths_section
from experiments.comparison.scored_text import ScoredText, TextsOfSplit
from experiments.comparison.sentences import most_different, sentences_section
from experiments.markdown import table
from transformer_jax.data.corpus import Corpus
from transformer_jax.metrics.significance import sentence_statistics

REFERENCES = ["a b c d", "e f", "g h i", "j k l m n", "o", "p q r s t u"]
SOURCES = [f"source {number}" for number in range(6)]
CORPUS = Corpus("made up", SOURCES, REFERENCES)


def scored(label, translations, cut_off=0):
    counts = sentence_statistics(translations, REFERENCES, tokenizer="none")
    return ScoredText(label, translations, counts, "none", cut_off)


def cells(grid: str) -> dict[str, list[str]]:
    """A table's rows by their first cell."""
    rows = [[cell.strip() for cell in line.strip("|\n").split(" | ")] for line in grid.splitlines()]
    return {name: rest for name, *rest in rows}


def test_lengths_by_hand():
    """21 tokens of references; A has 3 fewer, in a translation that is empty, B one more."""
    a = scored("A", ["a b c d", "e f", "", "j k l m n", "o", "p q r s t u"], cut_off=3)
    b = scored("B", ["a b c d", "e f", "g h i", "j k l m n", "o x", "p q r s t u"])
    texts = TextsOfSplit(CORPUS, np.array([4, 1, 2, 2, 9, 5]))
    found = cells(lengths_section([a, b], texts))
    assert found["mean length of a translation, in tokens"] == ["3.00", "3.67"]
    assert found["length, divided by the references'"] == [f"{18 / 21:.3f}", f"{22 / 21:.3f}"]
    assert found["translations cut off at the limit"] == ["3", "0"]
    assert found["empty translations"] == ["1", "0"]
    # The quartiles of 1, 2, 2, 4, 5, 9 are 2, 3 and 4.75.
    assert found["of sources of 1 to 2 pieces (3 sentences)"] == ["0.700", "1.000"]
    assert found["of sources of 4 pieces (1 sentence)"] == ["1.000", "1.000"]
    assert found["of sources of 5 to 9 pieces (2 sentences)"] == ["1.000", "1.143"]
    assert len(found) == 4 + 3 + 2


@pytest.mark.parametrize("seed", range(5))
def test_every_sentence_is_in_one_bucket_and_buckets_do_not_overlap(seed):
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 97))
    texts = TextsOfSplit(Corpus("made up", ["s"] * count, ["t"] * count), random.integers(0, 13, count))
    chosen = [which for _, which in buckets(texts)]
    assert (sum(which.astype(int) for which in chosen) == 1).all()
    ends = [(texts.source_lengths[which].min(), texts.source_lengths[which].max()) for which in chosen]
    assert all(high < low for (_, high), (low, _) in itertools.pairwise(ends))
    assert 1 <= len(chosen) <= 4


def test_the_sentences_that_differ_most_come_first_and_equal_ones_not_at_all():
    a = ["a b c d", "e f", "g h x", "j k l m n", "", "p q r s t u"]
    b = ["a b c x", "e f", "g h i", "x", "o", "p q r s t u"]
    found = most_different(a, b, REFERENCES, count=10)
    assert [scores.place for scores in found] == [3, 4, 2, 0]
    differences = [abs(scores.a - scores.b) for scores in found]
    assert differences == sorted(differences, reverse=True)
    for scores in found:
        pair = [CHRF().sentence_score(side[scores.place], [REFERENCES[scores.place]]).score for side in (a, b)]
        assert [scores.a, scores.b] == pair
    assert most_different(a, b, REFERENCES, count=2) == found[:2]
    assert most_different(a, a, REFERENCES, count=10) == []


def test_sentences_are_shown_as_they_are():
    a = ["| a `b`", *REFERENCES[1:]]
    b = ["", *REFERENCES[1:]]
    found = sentences_section(a, b, CORPUS)
    assert found.startswith("1 of 6 are translated differently")
    assert "\nsource     source 0\nreference  a b c d\nA          | a `b`\nB\n```\n" in found
    assert "line 1: chrF2" in found


def test_a_table_is_markdown_whatever_its_cells_hold():
    found = table(["name", "A"], [["x", "1|2"], ["longer name", ""]])
    assert found.splitlines() == [
        "| name        |    A |",
        "| ----------- | ---: |",
        r"| x           | 1\|2 |",
        "| longer name |      |",
    ]
