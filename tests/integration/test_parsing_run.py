"""A run of trees is a run like any other: prepared, trained, scored by brackets; its folder alone is a parser."""

import json
import shutil

import pytest
from tiny_commands import run_command
from toy_treebank import SENTENCES, write_treebank
from trees.made_trees import is_well_formed

from experiments.parser import read_parser
from experiments.workdir import WorkdirError, read_experiment
from transformer_jax.trees.bracket_files import parse_tree
from transformer_jax.trees.cleaning import Cleaning, cleaned

GOLD = [cleaned(parse_tree(text), Cleaning()).tree for text in SENTENCES]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a trained and scored run, and what the commands wrote."""
    home = tmp_path_factory.mktemp("parsing")
    config = write_treebank(home / "text")
    said = [
        run_command("prepare", f"--gin_file={config}"),
        run_command("train", f"--gin_file={config}", f"--workdir={home / 'run'}"),
        run_command("evaluate", f"--workdir={home / 'run'}"),
    ]
    assert [ended.code for ended in said] == [0, 0, 0], [ended.err for ended in said]
    return home / "run", [ended.out.decode() for ended in said]


def entry(workdir, split="test"):
    return json.loads((workdir / "results.json").read_text())[split]


def test_preparing_accounts_for_every_tree(run):
    said = run[1][0]
    assert "training trees: 21 read, 1 left out as nothing but traces" in said
    assert "cleaned of 2 emptied constituents, 30 function labels, 20 outer labels, 1 traces" in said
    assert "training text: 20 pairs read, 20 kept" in said


def test_what_was_learned_by_heart_is_parsed_without_an_error(run):
    workdir, (*_, said) = run
    found = entry(workdir)
    assert next(iter(found)) == "bracketing"
    scores = found["bracketing"]
    for name in ("f1", "recall", "precision", "tagging_accuracy", "complete_match"):
        assert scores[name] == scores["short"][name] == scores["with_gold_tags"][name] == 100.0
    assert (scores["sentences"], scores["error_sentences"], scores["left_out"]) == (20, 0, 1)
    assert (scores["repaired_sentences"], scores["repairs"]) == (0, {})
    lines = (workdir / "parses.test.txt").read_text().split("\n")
    assert lines == [*(f"(TOP {tree})" for tree in GOLD), ""]
    assert str(workdir / "parses.test.txt") in said


def test_f1_is_what_is_printed_first_and_bleu_is_not(run):
    said = run[1][2]
    assert said.index("F1 100.00, recall 100.00") < said.index("perplexity 1.")
    assert "BLEU" not in said
    assert "chrF" not in said


@pytest.mark.usefixtures("quick_to_compile")
def test_the_folder_alone_is_a_parser(run, tmp_path):
    workdir = shutil.copytree(run[0], tmp_path / "elsewhere")
    bindings = ['Data.directory = "/nowhere"', f'Data.cache_directory = "{tmp_path}"', "Decoding.max_extra_length = 12"]
    sentences = [" ".join(tree.words()) for tree in GOLD[::7]] + ["a (b)\tc", " ", "Ann"]
    parses = read_parser(workdir, read_experiment(workdir, [], bindings)).parse(sentences)
    assert [parse.tree for parse in parses[:3]] == GOLD[::7]
    assert parses[3].tree.words() == ["a", "-LRB-b-RRB-", "c"]
    assert parses[4].tree is None
    assert is_well_formed(str(parses[3].tree))
    assert is_well_formed(str(parses[5].tree))


@pytest.mark.slow
def test_a_constrained_search_scores_as_well(run, tmp_path):
    workdir = shutil.copytree(run[0], tmp_path / "run")
    ended = run_command(
        "evaluate", f"--workdir={workdir}", "--split=dev", "--gin_param=Decoding.constrained_to_trees = True"
    )
    assert ended.code == 0, ended.err
    assert entry(workdir, "dev")["bracketing"]["f1"] == 100.0
    assert entry(workdir)["bracketing"]["sentences"] == 20, "the other split stays"


def test_other_settings_of_trees_are_another_preparation(run):
    workdir, _ = run
    text = workdir.parent / "text"
    before = len(list((text / "cache").glob("training-*")))
    ended = run_command("prepare", f"--gin_file={text / 'toy.gin'}", "--gin_param=Trees.remove_function_labels = False")
    assert ended.code == 0, ended.err
    assert len(list((text / "cache").glob("training-*"))) == before + 1
    assert "function labels" not in ended.out.decode()


def test_a_run_that_is_no_parser_says_so(run, tmp_path):
    workdir = shutil.copytree(run[0], tmp_path / "run")
    (workdir / "trees.json").unlink()
    ended = run_command("evaluate", f"--workdir={workdir}")
    assert (ended.code != 0, ended.out) == (True, b"")
    assert ended.err == f"error: {workdir} holds no parser (it has no trees.json): it was not trained on trees\n"
    with pytest.raises(WorkdirError, match="holds no parser"):
        read_parser(workdir, read_experiment(workdir, [], []))
