"""Results and translations on disk: whole, readable, and each split's beside the others'."""

import json

import numpy as np
import pytest
from tiny_experiment import tiny_experiment

from experiments.results import add_split, read_statistics, summary, training_summary, write_translations
from experiments.workdir import WorkdirError
from transformer_jax.analysis.cost import training_flops
from transformer_jax.data.corpus import Corpus
from transformer_jax.data.vocabularies.sentencepiece_vocabulary import learn_vocabulary
from transformer_jax.decoding.generate import Hypothesis
from transformer_jax.decoding.translator import Translation
from transformer_jax.evaluation import Evaluation, SearchReport
from transformer_jax.metrics.bleu import Score
from transformer_jax.metrics.length_ratio import LengthRatio

TRANSLATIONS = [
    Translation([8, 2], [Hypothesis([5, 7], -0.25, -0.5, True)], ["die Straße\u2028hier"], []),
    Translation([2], [Hypothesis([], 0.0, 0.0, True)], [""], []),
    Translation([9, 2], [Hypothesis([11], -3.0, -4.5, False)], ["猫"], ["its translation was cut off at 1 tokens"]),
]
TOKENS = [["▁die", "▁Straße"], [], ["▁猫"]]


@pytest.fixture
def evaluation():
    score = Score("BLEU", 12.5, "nrefs:1")
    groups = [LengthRatio(0, 10, 2, 0.5), LengthRatio(61, None, 1, None)]
    return Evaluation(3.5, score, score, 25.0, TRANSLATIONS, SearchReport(2, 0.75, groups), [])


def test_a_split_stands_beside_the_others_and_in_place_of_its_former_self(tmp_path):
    assert add_split(tmp_path, "test", {"bleu": 1}) == tmp_path / "results.json"
    add_split(tmp_path, "dev", {"bleu": 2, "name": "Übung"})
    add_split(tmp_path, "test", {"bleu": 3})
    text = (tmp_path / "results.json").read_text(encoding="utf-8")
    assert json.loads(text) == {"test": {"bleu": 3}, "dev": {"bleu": 2, "name": "Übung"}}
    assert "Übung" in text
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"]


def test_what_is_no_json_is_not_overwritten(tmp_path):
    (tmp_path / "results.json").write_text('{"test": {"bl')
    with pytest.raises(WorkdirError, match=r"results\.json is not JSON: move it away and evaluate again"):
        add_split(tmp_path, "dev", {"bleu": 2})
    assert (tmp_path / "results.json").read_text() == '{"test": {"bl'


def test_translations_are_a_line_each_and_a_json_line_each(tmp_path, evaluation):
    statistics = np.arange(30).reshape(3, 10)
    written = write_translations(tmp_path, "dev", evaluation, TOKENS, statistics)
    assert written == tmp_path / "translations.dev.txt"
    text = (tmp_path / "translations.dev.txt").read_text(encoding="utf-8")
    assert text == "die Straße\u2028hier\n\n猫\n"
    lines = (tmp_path / "translations.dev.jsonl").read_text(encoding="utf-8").split("\n")
    rows = [json.loads(line) for line in lines[:-1]]
    assert [row.pop("bleu_statistics") for row in rows] == statistics.tolist()
    np.testing.assert_array_equal(read_statistics(tmp_path, "dev"), statistics)
    assert rows == [
        {"tokens": ["▁die", "▁Straße"], "ids": [5, 7], "score": -0.25, "log_prob": -0.5, "finished": True},
        {"tokens": [], "ids": [], "score": 0.0, "log_prob": 0.0, "finished": True},
        {"tokens": ["▁猫"], "ids": [11], "score": -3.0, "log_prob": -4.5, "finished": False},
    ]
    assert lines[-1] == ""
    assert len(list(tmp_path.iterdir())) == 2


def test_what_the_search_tells_is_in_the_entry_as_json_has_it(tmp_path, evaluation):
    learned = learn_vocabulary(["die Straße", "hier"], 17, "bpe")
    corpus = Corpus("test.tsv", ["a", "b", "c"], ["d", "e", "f"])
    entry = summary(tmp_path, tiny_experiment(), learned, corpus, evaluation, steps=[3], seconds=1.5)
    add_split(tmp_path, "test", entry)
    kept = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["test"]
    assert kept["cut_off_at_the_length_limit"] == 1
    assert kept["search_errors"] == 2
    assert kept["length_ratio"] == 0.75
    assert kept["length_ratio_by_source_length"] == [
        {"low": 0, "high": 10, "sentences": 2, "ratio": 0.5},
        {"low": 61, "high": None, "sentences": 1, "ratio": None},
    ]


@pytest.mark.parametrize(
    "text", ['{"tokens": []}\n', '{"bleu_stat', '{"bleu_statistics": [1, 2]}\n', "[]\n", None]
)  # fmt: skip
def test_translations_without_statistics_are_refused_in_one_line(tmp_path, text):
    if text is not None:
        (tmp_path / "translations.dev.jsonl").write_text(f"{text}\n")
    with pytest.raises(WorkdirError, match=r"translations\.dev\.jsonl cannot be read: score the run again$"):
        read_statistics(tmp_path, "dev")


LOG = [
    {"kind": "train", "step": 3, "seconds": 1.5, "pairs_per_update": 2, "source_tokens_per_update": 10,
     "target_tokens_per_update": 14},
    {"kind": "dev", "step": 3, "negative_log_likelihood": 1.0},
    {"kind": "train", "step": 5, "seconds": 0.5, "pairs_per_update": 3, "source_tokens_per_update": 20,
     "target_tokens_per_update": 21},
]  # fmt: skip


def write_log(workdir, records):
    (workdir / "metrics.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))


def test_training_is_summed_over_its_log(tmp_path):
    """Three updates of 2 pairs, 10 source and 14 target tokens, then two of 3, 20 and 21."""
    write_log(tmp_path, LOG)
    experiment = tiny_experiment()
    summary = training_summary(tmp_path, experiment)
    flops = summary.pop("flops")
    assert summary == {"updates": 5, "pairs": 12, "source_tokens": 70, "target_tokens": 84, "seconds": 2.0}
    a_pair = training_flops(experiment.model, experiment.data.vocab_size, source=70 / 12, target=84 / 12)
    assert flops == pytest.approx(12 * a_pair)


@pytest.mark.parametrize("records", [1, 2])
def test_what_an_older_version_did_not_log_is_not_summed(tmp_path, records):
    """In all of the log, or up to where a newer version went on with the run."""
    newer = {"pairs_per_update", "source_tokens_per_update"}
    old = [{name: value for name, value in record.items() if name not in newer} for record in LOG[: 2 * records - 1]]
    write_log(tmp_path, [*old, *LOG[2 * records - 1 :]])
    assert training_summary(tmp_path, tiny_experiment()) == {"updates": 5, "target_tokens": 84, "seconds": 2.0}


def test_nothing_trained_is_nothing_summed(tmp_path):
    assert set(training_summary(tmp_path, tiny_experiment()).values()) == {0.0}
