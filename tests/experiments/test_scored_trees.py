"""The bracketing entry of a split, from trees and translations that are scored by hand."""

import dataclasses
import json

import pytest
from readings import TREES
from tiny_experiment import tiny_experiment

from experiments.scored_trees import bracketing_lines, parses_file, read_gold, score_trees
from experiments.workdir import WorkdirError
from transformer_jax.data.prepared import read_split
from transformer_jax.data.tree_inventory import TreeInventory
from transformer_jax.decoding.generate import Hypothesis
from transformer_jax.decoding.translator import Translation
from transformer_jax.errors import UserError
from transformer_jax.evaluation import Evaluation, SearchReport
from transformer_jax.metrics.bleu import Score

TEXT = """
( (S (NP-SBJ (NNP Ann)) (VP (VBZ sees) (NP (NP (NNS cats)))) (. .)))
( (X (-NONE- *)))
(S1 (S (NP (NN rain)) (VP (VBZ falls)) (. .)))
(TOP (S (NP (NN rain)) (, ,) (VP (VBZ falls)) (. .)))
"""
# One of two NPs over a word is not there; an NP too many; the tags of a word and a comma in each other's place.
SAID = [
    "S NP NNP /NP VP VBZ NP NNS /NP /VP . /S",
    "S NP NP NN /NP VP VBZ /VP . /S",
    "S NP , /NP NN VP VBZ /VP . /S",
]


@pytest.fixture
def experiment(tmp_path):
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "test.mrg").write_text(TEXT)
    TreeInventory(["S"], "NN", {}, 1, 4, 1, {}).save(tmp_path / "trees.json")
    return tiny_experiment(test="trees:test.mrg", directory=str(tmp_path / "text"))


def evaluation(texts):
    translations = [Translation([2], [Hypothesis([], -1.0, -1.0, True)], [text], []) for text in texts]
    score = Score("BLEU", 12.5, "nrefs:1")
    return Evaluation(3.5, score, score, 25.0, translations, SearchReport(2, 0.75, []), [])


def scored(experiment, home, texts=SAID):
    gold, corpus = read_gold(home, experiment, "test"), read_split(experiment.data, experiment.trees, "test")
    return score_trees(home, experiment, "test", gold, corpus, evaluation(texts))["bracketing"]


def test_an_entry_by_hand(experiment, tmp_path):
    """Brackets of gold, test and both: 5, 4, 4; 3, 4, 3; in the third, words are left out by their tags: "rain" in the
    parse and "," in the gold tree: an error sentence. With the gold tags it is 3, 3, 3: its NP is over "rain".
    """
    found = scored(experiment, tmp_path)
    assert (found["recall"], found["precision"]) == (pytest.approx(100 * 7 / 8), pytest.approx(100 * 7 / 8))
    assert found["f1"] == pytest.approx(100 * 7 / 8)
    assert found["complete_match"] == 0
    assert found["tagging_accuracy"] == 100
    assert (found["sentences"], found["error_sentences"], found["skipped_sentences"], found["left_out"]) == (3, 1, 0, 1)
    with_gold_tags = found["with_gold_tags"]
    assert (with_gold_tags["error_sentences"], with_gold_tags["f1"]) == (0, pytest.approx(100 * 10 / 11))
    assert (found["repaired_sentences"], found["repairs"]) == (1, {"closings added": 1})
    assert found["short"] == {"most_words": 40, **{name: found[name] for name in found["short"] if name in found}}
    assert json.loads(json.dumps(found)) == found


def test_parses_are_kept_a_tree_a_line_under_one_outer_label(experiment, tmp_path):
    scored(experiment, tmp_path)
    assert parses_file(tmp_path, "test") == tmp_path / "parses.test.txt"
    first, second, third, end = (tmp_path / "parses.test.txt").read_text().split("\n")
    assert first == "(TOP (S (NP (NNP Ann)) (VP (VBZ sees) (NP (NNS cats))) (. .)))"
    assert second == "(TOP (S (NP (NP (NN rain)) (VP (VBZ falls)) (. .))))"
    assert third.startswith("(TOP (S (NP (, rain)) (NN ,)")
    assert end == ""


def test_unary_loops_are_scored_whether_the_targets_have_them_or_not(experiment, tmp_path):
    collapsed = dataclasses.replace(experiment, trees=dataclasses.replace(TREES, collapse_unary_loops=True))
    assert read_gold(tmp_path, collapsed, "test").trees == read_gold(tmp_path, experiment, "test").trees
    assert read_split(experiment.data, TREES, "test").targets[0].count("/NP") == 3
    assert read_split(experiment.data, collapsed.trees, "test").targets[0].count("/NP") == 2
    assert scored(collapsed, tmp_path)["f1"] == scored(experiment, tmp_path)["f1"]


def test_gold_trees_keep_what_the_settings_keep(experiment, tmp_path):
    kept = TREES.__class__(False, False, False, "tags")
    first, *_ = read_gold(tmp_path, dataclasses.replace(experiment, trees=kept), "test").trees
    assert str(first).startswith("(TOP (S (NP-SBJ (NNP Ann))")


def test_parameters_may_be_a_file_of_evalbs(experiment, tmp_path):
    """One that deletes nothing: the outer label and the full stop count."""
    (tmp_path / "text" / "own.prm").write_text("LABELED 0\nCUTOFF_LEN 3\n")
    own = dataclasses.replace(
        experiment, scoring=dataclasses.replace(experiment.scoring, bracketing_parameters="own.prm")
    )
    found = scored(own, tmp_path)
    assert found["parameters"] == "own.prm"
    assert (found["error_sentences"], found["short"]["most_words"], found["short"]["sentences"]) == (0, 3, 1)
    assert found["recall"] == pytest.approx(100 * (5 + 4 + 4) / (6 + 4 + 4))
    (tmp_path / "text" / "own.prm").write_text("LABELLED 0\n")
    with pytest.raises(UserError, match=r"own\.prm, line 1"):
        read_gold(tmp_path, own, "test")


def test_a_line_for_people_says_f1_first_and_what_is_left_out(experiment, tmp_path):
    lines = bracketing_lines(scored(experiment, tmp_path))
    assert lines[0].startswith("F1 87.50, recall 87.50, precision 87.50, tagging accuracy 100.00")
    text = "\n".join(lines)
    for part in ("1 sentences are left out", "F1 90.91 of all sentences", "1 trees of nothing but traces",
                 "1 translations were no trees: 1 closings added"):  # fmt: skip
        assert part in text
    assert "WARNING" not in text
    (tmp_path / "text" / "own.prm").write_text("MAX_ERROR 0\nDELETE_LABEL ,\n")
    own = dataclasses.replace(
        experiment, scoring=dataclasses.replace(experiment.scoring, bracketing_parameters="own.prm")
    )
    (tmp_path / "text" / "test.mrg").write_text(TEXT.strip().split("\n")[-1] + "\n" + TEXT.strip().split("\n")[-1])
    assert "WARNING" in "\n".join(bracketing_lines(scored(own, tmp_path, SAID[2:] * 2)))


def test_what_is_not_of_trees_has_no_brackets(experiment, tmp_path):
    pairs = tiny_experiment()
    assert read_gold(tmp_path, pairs, "test") is None
    assert score_trees(tmp_path, pairs, "test", None, None, evaluation([])) == {}
    assert not parses_file(tmp_path, "test").exists()
    (tmp_path / "trees.json").unlink()
    with pytest.raises(WorkdirError, match="was not trained on trees"):
        read_gold(tmp_path, experiment, "test")
