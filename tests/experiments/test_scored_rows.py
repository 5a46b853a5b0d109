"""Rows of the test set that are scored apart: each a row, each once, and scored as if they were the whole."""

import pytest
import sacrebleu
from tiny_experiment import tiny_experiment

from experiments.rows import read_rows
from experiments.scored_rows import score_rows
from transformer_jax.data.corpus import Corpus, CorpusError
from transformer_jax.decoding.generate import Hypothesis
from transformer_jax.decoding.translator import Translation
from transformer_jax.evaluation import Evaluation, SearchReport
from transformer_jax.metrics.bleu import corpus_bleu, corpus_chrf

REFERENCES = ["der Hund sieht das Haus", "ein Haus steht hier", "das ist der kleine Hund", "wir sehen hier ein Haus"]
OURS = ["der Hund sieht das Haus", "ein Hund steht hier", "das war der kleine Hund", "wir sehen ein Haus"]


def experiment(tmp_path, text):
    (tmp_path / "rows.txt").write_text(text)
    return tiny_experiment(test_rows="rows.txt", directory=str(tmp_path))


def evaluation():
    translations = [Translation([5, 2], [Hypothesis([5], -1.0, -1.0, True)], [text], []) for text in OURS]
    bleu, chrf = corpus_bleu(OURS, REFERENCES, tokenizer="none"), corpus_chrf(OURS, REFERENCES)
    return Evaluation(2.0, bleu, chrf, 25.0, translations, SearchReport(0, None, []), [])


def test_the_rows_are_scored_as_if_they_were_all(tmp_path):
    corpus = Corpus("test", ["?"] * 4, REFERENCES)
    rows = score_rows(experiment(tmp_path, "2\n0\n1\n"), corpus, evaluation())["rows"]
    alone = sacrebleu.corpus_bleu(
        [OURS[i] for i in (2, 0, 1)], [[REFERENCES[i] for i in (2, 0, 1)]], tokenize="none", force=True
    )
    assert rows["bleu"]["value"] == alone.score
    assert rows["bleu"]["value"] != evaluation().bleu.value
    assert (rows["sentences"], rows["file"]) == (3, "rows.txt")


def test_without_a_file_nothing_is_scored_apart():
    assert score_rows(tiny_experiment(), Corpus("test", ["?"] * 4, REFERENCES), evaluation()) == {}


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("0\n4\n", 2, "4"),
        ("0\n1\n0\n", 3, "0"),
        ("-1\n", 1, "-1"),
        ("one\n", 1, "one"),
        ("", 1, ""),
        ("1\n\n2\n", 2, ""),
        ("1.0\n", 1, "1.0"),
    ],
)
def test_what_is_no_row_is_named(tmp_path, text, line, what):
    with pytest.raises(
        CorpusError, match=rf"rows\.txt, line {line}: '{what}' must be the number of a row, from 0 to 3"
    ):
        read_rows(experiment(tmp_path, text), 4)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CorpusError, match=r"absent\.txt: No such file"):
        read_rows(tiny_experiment(test_rows="absent.txt", directory=str(tmp_path)), 4)
