"""BLEU against a hand-worked corpus, and the warnings that stand between a wrong input and a published number."""

import logging
import math

import pytest

from transformer_jax.metrics.bleu import (
    BLEU_TOKENIZERS,
    ScoringError,
    corpus_bleu,
    corpus_chrf,
    exact_match,
    scoring_warnings,
)

HYPOTHESES = ["a man rides a red bike .", "two dogs run ."]
REFERENCES = ["a man rides a bike .", "two dogs run in snow ."]
# Counted by hand: matches of 1- to 4-grams over the two lines; 11 tokens against 12.
MULTI_BLEU = 100 * math.exp(1 - 12 / 11) * (10 / 11 * 6 / 9 * 3 / 7 * 1 / 5) ** (1 / 4)

RAW = ["A man, it's said, rides.", "Two dogs run.", "They don't stop."]
TOKENISED = ["A man , it &apos;s said , rides .", "Two dogs run .", "They do n't stop ."]


def test_bleu_without_tokeniser_is_multi_bleu():
    score = corpus_bleu(HYPOTHESES, REFERENCES, tokenizer="none")
    assert score.value == pytest.approx(MULTI_BLEU, rel=1e-12)
    assert score.detail == "90.9/66.7/42.9/20.0 (BP = 0.913 ratio = 0.917 hyp_len = 11 ref_len = 12)"


def test_bleu_depends_on_case():
    shouted = [line.upper() for line in REFERENCES]
    assert corpus_bleu(HYPOTHESES, shouted, tokenizer="none").value < MULTI_BLEU / 2


def test_signature_names_the_choices():
    score = corpus_bleu(RAW, RAW, tokenizer="13a")
    assert score.value == pytest.approx(100.0)
    assert score.signature.startswith("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:")
    assert "tok:intl" in corpus_bleu(RAW, RAW, tokenizer="intl").signature


def test_tokenisers_disagree_about_one_output():
    """The same two files, two numbers: what makes scores without signatures worthless."""
    reference = ["It was a well-known »Haus« in the 1990s."]
    hypothesis = ["It was a well-known »Heim« in the 1990s."]
    scores = [corpus_bleu(hypothesis, reference, tokenizer=name).value for name in ("13a", "intl")]
    assert abs(scores[0] - scores[1]) > 1.0


def test_chrf_of_a_hand_worked_line():
    """Both orders of "ab" against "ac": one of two unigrams, none of one bigram; recall counts twice in F2."""
    score = corpus_chrf(["ab"], ["ac"])
    assert (score.name, score.detail) == ("chrF2", "")
    assert score.value == pytest.approx(100 * (1 / 2 + 0) / 2)
    assert "nc:6" in score.signature


@pytest.mark.parametrize(
    ("hypotheses", "percent"),
    [(["a b", "c"], 100.0), ([" a b\n", "c"], 100.0), (["a  b", "c"], 50.0), (["A b", ""], 0.0)],
)
def test_exact_match(hypotheses: list[str], percent: float):
    assert exact_match(hypotheses, ["a b", "c "]) == percent


def all_metrics():
    return [
        lambda ours, theirs: corpus_bleu(ours, theirs, tokenizer="13a"),
        corpus_chrf,
        exact_match,
        lambda ours, theirs: scoring_warnings(ours, theirs, tokenizer="13a"),
    ]


@pytest.mark.parametrize("metric", all_metrics(), ids=["bleu", "chrf", "exact_match", "warnings"])
def test_texts_that_cannot_be_scored(metric):
    with pytest.raises(ScoringError, match="2 hypotheses but 3 references"):
        metric(["a", "b"], ["a", "b", "c"])
    with pytest.raises(ScoringError, match="at least one line"):
        metric([], [])


def test_unknown_tokeniser_names_the_known_ones():
    with pytest.raises(ScoringError, match=r"'13b'.*'none'.*'13a'.*'intl'"):
        corpus_bleu(RAW, RAW, tokenizer="13b")
    with pytest.raises(ScoringError, match="'13b'"):
        scoring_warnings(RAW, RAW, tokenizer="13b")
    assert {"none", "13a", "intl", "char"} <= set(BLEU_TOKENIZERS)


def test_sacrebleus_own_warning_is_kept():
    tokenised, raw = ["Dogs run ."] * 100, ["Dogs run."] * 100
    warnings = corpus_bleu(tokenised, raw, tokenizer="13a").warnings
    assert "forgot to detokenize" in " ".join(warnings)
    assert corpus_bleu(tokenised[:99], raw[:99], tokenizer="13a").warnings == ()
    assert corpus_bleu(tokenised, tokenised, tokenizer="none").warnings == ()
    assert logging.getLogger("sacrebleu").handlers == []


@pytest.mark.parametrize("piece_text", ["A m@@ an rides", "Two dog@@", "▁A ▁man", "A m ##an"])
def test_subword_marks_are_reported(piece_text: str):
    (warning,) = scoring_warnings(["Dogs run.", piece_text, piece_text], RAW, tokenizer="13a")
    assert warning.startswith(f"2 of 3 hypotheses (line 2: {piece_text!r}) hold subword marks")


def test_marks_inside_words_are_text():
    assert scoring_warnings(["me@@home.org", "C## is old", "Rock ' n ' roll"], RAW, tokenizer="13a") == []


def test_tokenised_hypotheses_against_raw_references():
    for tokenizer in ("13a", "none"):
        (warning,) = scoring_warnings(TOKENISED, RAW, tokenizer=tokenizer)
        assert warning.startswith("3 of 3 hypotheses (line 1: 'A man , it &apos;s")
        assert "the references do not" in warning


@pytest.mark.parametrize("trace", ["Dogs run .", "Dogs , cats", "it &apos;s", "say &quot;", "he 's", "do n't"])
def test_each_trace_of_a_tokeniser(trace: str):
    assert len(scoring_warnings([trace], ["Dogs run."], tokenizer="13a")) == 1


def test_text_tokenised_on_purpose():
    assert scoring_warnings(TOKENISED, TOKENISED, tokenizer="none") == []
    (warning,) = scoring_warnings(TOKENISED, TOKENISED, tokenizer="13a")
    assert "3 of 3 references" in warning


@pytest.mark.parametrize("tokenizer", ["13a", "none"])
def test_raw_hypotheses_against_tokenised_references(tokenizer: str):
    (warning,) = scoring_warnings(RAW, TOKENISED, tokenizer=tokenizer)
    assert warning.startswith("3 of 3 references (line 1")
    assert "the hypotheses do not" in warning


def test_a_few_odd_lines_are_no_tokenisation():
    lines = ["Dogs run."] * 29
    assert scoring_warnings(["Dogs run ."] * 2 + lines[2:], lines, tokenizer="13a") == []
    assert len(scoring_warnings(["Dogs run ."] * 3 + lines[3:], lines, tokenizer="13a")) == 1
    assert scoring_warnings(lines, lines, tokenizer="13a") == []


def test_long_examples_are_shortened():
    (warning,) = scoring_warnings(["x" * 500 + " ."], ["x"], tokenizer="13a")
    assert len(warning) < 200
