"""BLEU by the paper's protocol against its published steps, done here once more with regular expressions."""

import gzip
import random
import re

import pytest
import sacrebleu

from transformer_jax.metrics.bleu import ScoringError, corpus_bleu
from transformer_jax.metrics.paper_bleu import paper_bleu, paper_tokens, split_hyphens

# Those of Moses' German list that the texts hold: letters, numbers and these keep their full stop.
ABBREVIATIONS = {
    *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", *map(str, range(1, 100)), "II", "III", "VI", "Art", "Bros",
    "Dr", "Maj", "Mio", "Mr", "Mrd", "Mrs", "Prof", "St", "bzw", "ca", "sog", "usw",
}  # fmt: skip
PUNCTUATION = {"“": '"', "”": '"', "’": "'", "…": "..."}
ESCAPES = {"&": "&amp;", "|": "&#124;", "<": "&lt;", ">": "&gt;", "'": "&apos;", '"': "&quot;",
           "[": "&#91;", "]": "&#93;"}  # fmt: skip
YEARS = (2013, 2014)


def published_steps(line):
    """Punctuation, Moses' tokens, hyphens, as far as the news texts need them."""
    line = re.sub(r"([^\w\s.'`,-]|_)", r" \1 ", " ".join(replaced(line, PUNCTUATION).split()))
    line = re.sub(r"\.{2,}", lambda dots: f" {chr(0) * len(dots[0])} ", line)  # several stay together
    line = re.sub(r"(?<!\d),|,(?!\d)", " , ", line).replace("'", " ' ")
    words = line.split()
    stopped = [full_stop(word, following) for word, following in zip(words, [*words, ""][1:], strict=True)]
    line = replaced(" ".join(stopped).replace(chr(0), "."), ESCAPES)
    return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", line)


def replaced(line, characters):
    for character, by in characters.items():
        line = line.replace(character, by)
    return line


def full_stop(word, following):
    """Alone, unless the word is an abbreviation, or the sentence goes on."""
    stem = word[:-1]
    if not word.endswith(".") or not stem:
        return word
    short = stem in ABBREVIATIONS or ("." in stem and re.search(r"[^\W\d_]", stem))
    return word if short or following[:1].islower() else f"{stem} ."


def damaged(lines, seed, rate):
    """Words dropped and neighbours swapped."""
    choose, hypotheses = random.Random(seed), []
    for line in lines:
        words = [word for word in line.split(" ") if choose.random() > rate]
        for i in range(len(words) - 1):
            if choose.random() < rate:
                words[i], words[i + 1] = words[i + 1], words[i]
        hypotheses.append(" ".join(words))
    return hypotheses


@pytest.fixture
def newstest(shared):
    """newstest(year): the German side."""

    def read(year):
        path = shared / "data" / "newstest" / f"newstest{year}.en-de.de.gz"
        return gzip.decompress(path.read_bytes()).decode().split("\n")[:-1]

    return read


@pytest.mark.parametrize("year", YEARS)
def test_every_line_of_newstest_becomes_what_the_published_steps_make_of_it(newstest, year):
    lines = newstest(year)
    tokens = paper_tokens(lines, language="de")
    assert [(ours, line) for ours, line in zip(tokens, lines, strict=True) if ours != published_steps(line)] == []
    assert sum("##AT##-##AT##" in line for line in tokens) > 300


@pytest.mark.parametrize(("year", "seed", "rate"), [(2013, 1, 0.1), (2014, 2, 0.3)])
def test_the_score_is_sacrebleu_s_without_tokeniser_after_the_published_steps(newstest, year, seed, rate):
    references = newstest(year)[:1500]
    hypotheses = damaged(references, seed, rate)
    ours = paper_bleu(hypotheses, references, language="de")
    steps = [list(map(published_steps, lines)) for lines in (hypotheses, references)]
    theirs = sacrebleu.corpus_bleu(steps[0], [steps[1]], tokenize="none", smooth_method="none", force=True)
    assert ours.value == theirs.score
    assert 10 < ours.value < 90


@pytest.mark.parametrize("year", YEARS)
def test_german_that_is_rich_in_hyphens_scores_higher_than_by_sacrebleu(newstest, year):
    """Of one output, by more than a point: numbers by the two are not to be compared."""
    references = [line for line in newstest(year) if re.search(r"\w-\w", line)]
    assert len(references) > 300
    hypotheses = damaged(references, 3, 0.2)
    gap = paper_bleu(hypotheses, references, language="de").value - corpus_bleu(
        hypotheses, references, tokenizer="13a"
    ).value  # fmt: skip
    assert 1 < gap < 5


@pytest.mark.parametrize(
    ("line", "tokens"),
    [
        ("E-Mail", "E ##AT##-##AT## Mail"),
        ("- ja - nein -", "- ja - nein -"),
        ("Ein- und Ausgang, -40", "Ein- und Ausgang, -40"),
        ("a-b-c", "a ##AT##-##AT## b-c"),  # the script's expression has used up the b
        ("aa-bb-cc", "aa ##AT##-##AT## bb ##AT##-##AT## cc"),
    ],
)
def test_hyphens(line, tokens):
    assert split_hyphens(line) == tokens


def test_a_hand_worked_line():
    (tokens,) = paper_tokens(["„Das ist Dr. Müllers E-Mail“, sagt’s z.B. 3,5-mal…"], language="de")
    assert tokens == "„ Das ist Dr. Müllers E ##AT##-##AT## Mail &quot; , sagt &apos; s z.B. 3,5 ##AT##-##AT## mal ..."


def test_half_a_compound_earns_credit():
    """Of the tokens a b c x - y d, x ##AT##-##AT## are right: 6 of 7, and 4, 3, 2 of the longer n-grams."""
    score = paper_bleu(["a b c x-z d"], ["a b c x-y d"], language="de")
    assert score.value == pytest.approx(100 * (6 / 7 * 4 / 6 * 3 / 5 * 2 / 4) ** (1 / 4), rel=1e-12)


def test_without_a_matching_four_gram_it_is_zero_as_multi_bleu_s():
    hypotheses, references = ["ein Haus steht hier"], ["ein Haus steht dort"]
    assert paper_bleu(hypotheses, references, language="de").value == 0
    assert corpus_bleu(hypotheses, references, tokenizer="13a").value > 0


def test_tokenised_text_stays_as_it_is_but_for_hyphens():
    """A second time, &apos; would become four tokens."""
    line = "mcdonald &apos; s u-bahn ."
    assert paper_tokens([line], language=None) == ["mcdonald &apos; s u ##AT##-##AT## bahn ."]
    assert paper_tokens([line], language="de") != paper_tokens([line], language=None)


def test_nobody_takes_the_label_for_a_signature_of_sacrebleu_s():
    lines = ["Das ist ein kleines Haus."]
    scores = [paper_bleu(lines, lines, language=language) for language in ("de", None)]
    for score in scores:
        assert score.value == pytest.approx(100)
        assert score.name == "BLEU, paper's protocol"
        assert "not sacreBLEU" in score.signature
        assert not re.search(r"\w+:\w|\|", score.signature)
    assert "'de'" in scores[0].signature
    assert scores[0].signature != scores[1].signature


def test_texts_that_cannot_be_scored():
    with pytest.raises(ScoringError, match="1 hypotheses but 2 references"):
        paper_bleu(["a"], ["a", "b"], language="de")
    with pytest.raises(ScoringError, match="at least one line"):
        paper_bleu([], [], language="de")


def test_empty_lines_stay_lines():
    assert paper_tokens(["", "  "], language="de") == ["", ""]
