"""`table2`: the paper's ten systems as printed, our runs beside them, and blanks for what nobody has measured."""

import csv
import json

import pytest
from run_folders import write_run
from tiny_commands import require_one_line, run_command
from tiny_experiment import tiny_experiment

from experiments.costs.compiled import Shares
from experiments.paper import TABLE_2

LAUNCH = {"devices": "2 x gpu (Tesla P100-PCIE-16GB)", "command": "python -m experiments.train --workdir=x"}
RECORD = {
    "kind": "train", "step": 10, "seconds": 1800.0, "pairs_per_update": 3.0, "source_tokens_per_update": 15.0,
    "target_tokens_per_update": 21.0, "padding_share": 0.25,
}  # fmt: skip
ENTRY = {
    "bleu": {"value": 20.25, "signature": "nrefs:1|tok:13a"}, "corpus": "data/a.en and data/b.de", "sentences": 11,
    "checkpoint_steps": [9, 10], "machine": "a machine, 2 cores", "devices": "1 x cpu", "revision": "abc",
    "date": "2026-01-02T03:04:05+00:00", "command": "python -m experiments.evaluate --workdir=x",
}  # fmt: skip
PAPER_BLEU = {"value": 21.5, "signature": "in words, not sacreBLEU"}


@pytest.fixture(autouse=True)
def shares(monkeypatch):
    monkeypatch.setattr("experiments.costs.runs.compiled_shares", lambda *_, **__: Shares(0.0, 1e9, 0.0))


def make_run(path, *, seed=3, **scores):
    """Scored, with `scores` beside; half an hour of two P100s."""
    return write_run(path, tiny_experiment(seed=seed), [RECORD], LAUNCH, {"test": ENTRY | scores})


def table2(workdir, *runs):
    ended = run_command("table2", *map(str, runs), f"--workdir={workdir}")
    assert (ended.code, ended.err) == (0, "")
    text = (workdir / "table2.md").read_text(encoding="utf-8")
    assert ended.out.decode().startswith(text)
    with (workdir / "table2.csv").open(encoding="utf-8", newline="") as file:
        return text, list(csv.DictReader(file))


def section(text, title):
    """The rows of a table, below its head."""
    lines = text.split(f"**{title}**\n\n")[1].split("\n\n")[0].split("\n")
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]]


def test_without_runs_it_is_the_paper_s_with_ours_blank(tmp_path):
    text, rows = table2(tmp_path / "table")
    assert "Our runs" not in text
    for language, field in (("English-German", "en_de"), ("English-French", "en_fr")):
        table = section(text, language)
        assert [row[0] for row in table] == list(TABLE_2)
        for name, bleu, *ours, cost, _, estimated, xla, formula in table:
            system = TABLE_2[name]
            assert (float(bleu) if bleu else None) == getattr(system, f"bleu_{field}")
            assert (float(cost) if cost else None) == getattr(system, f"flops_{field}")
            assert {*ours, estimated, xla, formula} == {""}
        in_csv = [row for row in rows if row["languages"] == language]
        assert [row["system"] for row in in_csv] == list(TABLE_2)
        assert {row["sacrebleu"] + row["flops_estimated"] + row["seed"] for row in in_csv} == {""}
    base = next(row for row in rows if row["system"] == "Transformer (base model)")
    assert (float(base["flops_paper"]), float(base["flops_recomputed"])) == (3.3e18, 3.2832e18)
    assert text.count("the paper is right") == 2


def test_a_run_has_bleu_two_ways_costs_three_ways_and_where_they_come_from(tmp_path):
    make_run(tmp_path / "runs" / "mine", paper_bleu=PAPER_BLEU)
    text, rows = table2(tmp_path / "table", tmp_path / "runs")
    (row,) = section(text, "Our runs")
    assert row[:8] == ["mine", "en-de", "b.de", "11", "3", "20.25", "21.50", "+1.25"]
    assert row[8:10] == ["3.42e16", "3.00e10"], "half an hour of two P100s; ten updates of three pairs of 1e9"
    for value in (ENTRY["machine"], ENTRY["command"], LAUNCH["command"], "nrefs:1|tok:13a", PAPER_BLEU["signature"]):
        assert value in text
    ours = rows[-1]
    assert (ours["system"], ours["seed"], ours["machine"]) == ("mine", "3", ENTRY["machine"])
    assert float(ours["flops_estimated"]) == pytest.approx(1800 * 2 * 9.5e12)
    assert float(ours["gap"]) == 1.25
    assert (ours["signature"], ours["paper_bleu_label"]) == ("nrefs:1|tok:13a", PAPER_BLEU["signature"])
    assert (ours["training_commands"], ours["command"]) == (LAUNCH["command"], ENTRY["command"])
    assert len(rows) == 2 * len(TABLE_2) + 1


def test_a_run_of_one_of_the_paper_s_configs_stands_in_the_paper_s_row(tmp_path):
    make_run(tmp_path / "table" / "en_de_big", paper_bleu=PAPER_BLEU)
    text, rows = table2(tmp_path / "table")
    filled = [row for row in section(text, "English-German") if row[2]]
    assert [(row[0], row[1], row[2], row[3], row[4]) for row in filled] == [
        ("Transformer (big)", "28.4", "20.25", "21.50", "2.3e19")
    ]
    assert not any(row[2] for row in section(text, "English-French"))
    assert [row["system"] for row in rows if row["sacrebleu"]] == ["Transformer (big)", "en_de_big"]


def test_a_run_scored_before_the_protocol_was_measured_is_blank_there(tmp_path):
    make_run(tmp_path / "runs" / "old")
    text, rows = table2(tmp_path / "table", tmp_path / "runs")
    assert section(text, "Our runs")[0][5:8] == ["20.25", "", ""]
    assert (rows[-1]["sacrebleu"], rows[-1]["paper_bleu"], rows[-1]["gap"]) == ("20.25", "", "")


def test_of_trees_bleu_is_not_told(tmp_path):
    make_run(tmp_path / "runs" / "parser", paper_bleu=PAPER_BLEU, bracketing={"f1": 90.0})
    text, _ = table2(tmp_path / "table", tmp_path / "runs")
    assert section(text, "Our runs")[0][5:8] == ["", "", ""]


def test_rows_that_are_scored_apart_have_a_row_of_their_own(tmp_path):
    apart = {"file": "some/rows.txt", "sentences": 5, "bleu": {"value": 30.0, "signature": "s"},
             "paper_bleu": {"value": 29.5, "signature": "l"}}  # fmt: skip
    make_run(tmp_path / "runs" / "mine", paper_bleu=PAPER_BLEU, rows=apart)
    text, rows = table2(tmp_path / "table", tmp_path / "runs")
    assert section(text, "Our runs")[1] == ["mine", "en-de", "rows.txt", "5", "", "30.00", "29.50", "-0.50", "", "", ""]
    assert (rows[-1]["corpus"], rows[-1]["gap"], rows[-1]["flops_estimated"]) == ("some/rows.txt", "-0.5", "")


def test_what_is_not_scored_is_named(tmp_path):
    make_run(tmp_path / "runs" / "scored")
    write_run(tmp_path / "runs" / "begun", tiny_experiment(), [RECORD], LAUNCH, {"dev": ENTRY})
    text, _ = table2(tmp_path / "table", tmp_path / "runs")
    assert [row[0] for row in section(text, "Our runs")] == ["scored"]
    assert "Not scored on the test set: begun." in text


def test_nothing_of_a_run_is_written(tmp_path):
    run = make_run(tmp_path / "runs" / "mine")
    before = {path: path.read_bytes() for path in run.iterdir()}
    table2(tmp_path / "table", run)
    assert {path: path.read_bytes() for path in run.iterdir()} == before
    assert json.loads((run / "results.json").read_text())["test"]["bleu"]["value"] == 20.25


def test_a_folder_without_runs_is_named(tmp_path):
    (tmp_path / "empty").mkdir()
    require_one_line(run_command("table2", str(tmp_path / "empty"), f"--workdir={tmp_path}"), ".*empty holds no run.*")
    require_one_line(run_command("table2", str(tmp_path / "absent"), f"--workdir={tmp_path}"), ".*absent is no folder")
