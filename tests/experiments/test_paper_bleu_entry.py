"""BLEU by the paper's protocol in a run's results: of raw text by its language, of tokenised text as it stands."""

import dataclasses
import json

import pytest
from run_folders import make_translated_run, without_last, write_text
from tiny_experiment import tiny_experiment

from experiments.registry.records import read_run
from experiments.results import paper_bleu_entry
from experiments.scored_rows import score_rows
from transformer_jax.data.corpus import Corpus
from transformer_jax.decoding.generate import Hypothesis
from transformer_jax.decoding.translator import Translation
from transformer_jax.evaluation import Evaluation, SearchReport
from transformer_jax.metrics.bleu import corpus_bleu, corpus_chrf
from transformer_jax.metrics.paper_bleu import paper_bleu

REFERENCES = ["Das ist eine E-Mail, sagt er.", "Der U-Bahn-Fahrer, der lacht, ist müde.", "Er ruft: „Halt!“"]
OURS = ["Das ist eine E-Card, sagt er.", "Der U-Bahn-Fahrer, der weint, ist müde.", "Er rief: „Halt!“"]


def value(bleu_tokenizer, language):
    experiment = tiny_experiment(bleu_tokenizer=bleu_tokenizer, target_language=language)
    return paper_bleu_entry(experiment, OURS, REFERENCES)["paper_bleu"]


@pytest.mark.parametrize("language", ["de", "fr"])
def test_raw_text_is_tokenised_in_its_language(language):
    assert value("13a", language) == dataclasses.asdict(paper_bleu(OURS, REFERENCES, language=language))
    assert repr(language) in value("intl", language)["signature"]


def test_text_that_is_tokenised_is_not_tokenised_again():
    """So says sacreBLEU's tokeniser "none"."""
    assert value("none", "de") == dataclasses.asdict(paper_bleu(OURS, REFERENCES, language=None))
    assert value("none", "de")["value"] != value("13a", "de")["value"]


def test_rows_apart_have_it_too(tmp_path):
    (tmp_path / "rows.txt").write_text("1\n0\n")
    experiment = tiny_experiment(test_rows="rows.txt", directory=str(tmp_path), bleu_tokenizer="13a")
    translations = [Translation([5, 2], [Hypothesis([5], -1.0, -1.0, True)], [text], []) for text in OURS]
    bleu, chrf = corpus_bleu(OURS, REFERENCES, tokenizer="13a"), corpus_chrf(OURS, REFERENCES)
    evaluation = Evaluation(2.0, bleu, chrf, 25.0, translations, SearchReport(0, None, []), [])
    rows = score_rows(experiment, Corpus("test", ["?"] * 3, REFERENCES), evaluation)["rows"]
    chosen = [[lines[row] for row in (1, 0)] for lines in (OURS, REFERENCES)]
    assert rows["paper_bleu"] == dataclasses.asdict(paper_bleu(*chosen, language="de"))


def test_results_of_before_are_read_as_they_were(tmp_path):
    """They lack it, and nothing else is missed."""
    run = make_translated_run(tmp_path / "run", write_text(tmp_path / "text"), translate=without_last)
    assert "paper_bleu" not in json.loads((run / "results.json").read_text())["test"]
    record = read_run(run)
    assert record.scores("test")["bleu"] > 0
    assert record.problems == ()
