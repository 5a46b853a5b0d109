"""`table4`: the paper's rows beside ours, with yardsticks of the same split."""

import json
import re

import pytest
from tiny_commands import require_one_line, run_command, snapshot

from experiments import paper
from experiments.parsing import yardsticks
from transformer_jax.analysis.parsing_baselines.pcfg import parse_all, read_pcfg
from transformer_jax.analysis.parsing_baselines.right_branching import read_right_branching
from transformer_jax.metrics.bracketing.score import bracketing_score
from transformer_jax.trees.bracket_files import parse_trees

pytestmark = pytest.mark.slow  # all wait for one parser that is trained first


def table4(root, *flags):
    return run_command("table4", f"--workdir={root}", *flags)


def cells(text):
    """The rows of each table, heads included."""
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        found.append([row.strip("|").split("|") for row in block.splitlines() if not row.startswith("| ---")])
    return [[[cell.strip() for cell in row] for row in rows] for rows in found]


@pytest.fixture
def scored(copied_parser):
    """The run with a score, which a test of its own makes."""
    settings = json.loads(json.dumps({"Decoding.beam_size": 2, "Decoding.length_penalty": 0.6,
                                      "Decoding.max_extra_length": 40, "Decoding.constrained_to_trees": False,
                                      "Trees.leaves": "tags"}))  # fmt: skip
    short = {"most_words": 40, "f1": 51.0}
    entry = {
        "bracketing": {"f1": 41.237, "recall": 40.0, "precision": 42.5, "complete_match": 6.5, "tagging_accuracy": 70.0,
                       "sentences": 15, "error_sentences": 3, "with_gold_tags": {"f1": 38.76}, "short": short,
                       "repaired_sentences": 7, "parameters": "EVALB's new.prm"},
        "corpus": "test.trees", "settings": settings, "checkpoint_steps": [90], "seconds": 60.0,
        "training": {"updates": 90.0, "seconds": 120.0}, "machine": "a machine, 2 cores", "devices": "1 x cpu",
        "revision": "abc", "date": "2026-01-01", "command": "python -m experiments.table4",
    }  # fmt: skip
    (copied_parser / "results.json").write_text(json.dumps({"test": entry}))
    return copied_parser


def test_the_papers_rows_and_ours_with_yardsticks(scored, treebank):
    ended = table4(scored.parent)
    assert ended.code == 0, ended.err
    written = (scored.parent / "table4.md").read_text(encoding="utf-8")
    assert ended.out.decode().startswith(written)
    pcfg, right_branching = (f"{f1:.2f}" for f1 in independent_yardsticks(treebank))
    in_a_line = f"tiny, F1 41.24, PCFG {pcfg}, right-branching {right_branching}, trained in 2 minutes"
    assert written.startswith(f"Table 4: {in_a_line}.\n\n| parser")
    (head, *rows), (_, *details) = cells(written)
    assert head == ["parser", "training", "scored on", "F1, paper", "F1, ours"]
    assert rows[:12] == [[row.name, row.training, "WSJ 23", f"{row.f1:.1f}", ""] for row in paper.TABLE_4]
    where = ["train.trees, 400 trees", "test.trees", ""]
    assert rows[12] == ["Transformer (1 layers, d_model 16)", *where, "41.24"]
    assert [(row[0], row[1:4]) for row in rows[13:]] == [("PCFG", where), ("right-branching", where)]
    assert [row[-1] for row in rows[13:]] == [pcfg, right_branching]
    ours = [
        "tiny",
        "Transformer (1 layers, d_model 16)",
        "41.24",
        "40.00",
        "42.50",
        "51.00",
        "6.50",
        "70.00",
        "15",
        "3",
        "38.76",
        "7",
    ]
    assert details[0] == ours
    assert [row[1] for row in details[1:]] == ["PCFG", "right-branching"]
    for told in ("EVALB's new.prm", "Decoding.beam_size = 2", "steps 90", "a machine, 2 cores", "revision abc"):
        assert told in written


def independent_yardsticks(treebank):
    """From the files themselves."""
    train, test = (
        [tree.children[0] for tree in parse_trees((treebank / f"{split}.trees").read_text().splitlines())]
        for split in ("train", "test")
    )
    sentences = [tree.words() for tree in test]
    branching = read_right_branching(train).parse
    grammar, _ = parse_all(read_pcfg(train), branching, sentences)
    return [
        bracketing_score([[tree] for tree in test], [[tree] for tree in parsed]).all.counts.f1
        for parsed in (grammar, list(map(branching, sentences)))
    ]


def test_a_run_of_the_papers_own_stands_in_its_row(scored):
    scored.rename(scored.with_name("wsj_only"))
    ended = table4(scored.parent, "--table_only")
    assert ended.code == 0, ended.err
    (_, *rows), (_, *details) = cells(ended.out.decode())
    assert len(rows) == 12, "no row of its own, no yardsticks yet"
    assert [row[:2] for row in rows if row[-1]] == [["Transformer (4 layers)", "WSJ only, discriminative"]]
    assert rows[4][-2:] == ["91.3", "41.24"]
    assert len(details) == 1


def test_yardsticks_are_computed_once_and_anew_when_they_would_differ(scored, monkeypatch):
    computed = []
    right_branching = yardsticks.read_right_branching
    monkeypatch.setattr(
        yardsticks, "read_right_branching", lambda trees: (computed.append(len(trees)), right_branching(trees))[1]
    )
    first = table4(scored.parent).out
    assert table4(scored.parent).out == first
    assert computed == [400]
    other_trees = '--gin_param=Data.train = "trees:dev.trees"'
    assert table4(scored.parent, "--table_only", other_trees).code == 0
    assert computed == [400]
    assert table4(scored.parent, other_trees).code == 0
    assert table4(scored.parent, other_trees, "--gin_param=Trees.collapse_unary_loops = True").code == 0
    assert computed == [400, 12, 12]


def test_a_run_without_a_bracketing_score_is_left_out(copied_parser):
    (copied_parser / "results.json").write_text('{"test": {"bleu": {}}}')
    ended = table4(copied_parser.parent)
    assert (ended.code, ended.out.decode()) == (0, "no run is finished yet\n")


@pytest.mark.slow
def test_it_trains_scores_and_tabulates(treebank, tmp_path):
    flags = [f"--gin_file={treebank / 'tiny.gin'}", "--gin_param=Training.num_steps = 3"]
    ended = table4(tmp_path / "runs", *flags)
    assert ended.code == 0, ended.err
    (_, *rows), _ = cells(ended.out.decode())
    assert [row[0] for row in rows[12:]] == ["Transformer (1 layers, d_model 16)", "PCFG", "right-branching"]
    before = snapshot(tmp_path / "runs" / "tiny")
    again = table4(tmp_path / "runs", *flags)
    assert again.out == ended.out
    assert snapshot(tmp_path / "runs" / "tiny") == before, "nothing is run twice"


def test_bad_input_is_one_line(treebank, scored, tmp_path):
    config, root = treebank / "tiny.gin", tmp_path / "none"
    require_one_line(table4(root), rf"{root} holds no run: say which to train, by --gin_file")
    require_one_line(
        table4(root, f"--gin_file={config}", f"--gin_file={config}"), r".*another --gin_file has this name.*"
    )
    no_trees = '--gin_param=Data.dev = "dev.tsv"'
    require_one_line(table4(root, f"--gin_file={config}", no_trees), r".*Data\.dev = 'dev\.tsv' is no treebank: .*")
    (scored / "yardsticks.test.json").write_text("[")
    require_one_line(table4(scored.parent), r".*yardsticks\.test\.json is not what was written: delete it.*")
