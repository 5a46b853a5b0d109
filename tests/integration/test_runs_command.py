"""`runs` lists, shows and ranks a run that was really trained and scored, and refuses in one line."""

import csv
import io
import json
import shutil

import pytest
from tiny_commands import require_one_line, run_command, snapshot

from experiments.gin_bindings import load_experiment


@pytest.fixture(scope="module")
def scored(trained, tmp_path_factory):
    """A folder with a copy of the run, scored on the dev set; and its entry in the results."""
    folder = tmp_path_factory.mktemp("registry")
    run = shutil.copytree(trained, folder / "run")
    ended = run_command("evaluate", f"--workdir={run}", "--split=dev", "--show=0")
    assert ended.code == 0, ended.err
    return folder, json.loads((run / "results.json").read_text())["dev"]


def test_list_says_what_was_measured(scored):
    folder, entry = scored
    before = snapshot(folder)
    ended = run_command("runs", "list", str(folder), "--filter=Model.d_ff = 23", "--format=csv")
    assert (ended.code, ended.err) == (0, "")
    (line,) = csv.DictReader(io.StringIO(ended.out.decode()))
    assert (line["path"], line["state"], line["updates"]) == (str(folder / "run"), "scored", "150")
    assert float(line["bleu"]) == entry["bleu"]["value"]
    assert float(line["target_tokens"]) == pytest.approx(entry["training"]["target_tokens"])
    assert float(line["flops"]) == pytest.approx(entry["training"]["flops"])
    assert line["revision"] == (entry["revision"] or "")
    assert snapshot(folder) == before


def test_show_holds_scores_with_signatures(scored):
    folder, entry = scored
    ended = run_command("runs", "show", str(folder / "run"))
    text = ended.out.decode()
    assert (ended.code, ended.err) == (0, "")
    assert text.startswith(f"{folder / 'run'}: trained, scored on dev\n")
    assert f"[{entry['bleu']['signature']}]" in text
    assert f"  command: {entry['command']}\n" in text


def test_the_best_ones_config_can_be_launched(scored, tmp_path):
    folder, entry = scored
    ended = run_command("runs", "best", str(folder), "--metric=chrf", "--gin")
    assert (ended.code, ended.err) == (0, "")
    (tmp_path / "best.gin").write_bytes(ended.out)
    assert load_experiment([tmp_path / "best.gin"]) == load_experiment([folder / "run" / "config.gin"])
    assert f"{entry['chrf']['value']:.2f}" in ended.out.decode().split("\n")[1]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["list", "{}", "--sort=bleuu"], r"--sort=bleuu: bleuu is no column \(columns are path, .*did you mean bleu\?"),
        (["list", "{}/nowhere"], ".*/nowhere is no folder"),
        (["list", "{}", "--split=tset"], r"argument --split: invalid choice: 'tset' \(choose from 'train', .*"),
        (["best", "{}", "--metric=rouge"], r"argument --metric: invalid choice: 'rouge' \(choose from 'bleu', .*"),
        (["best", "{}", "--split=train"], "none of 1 runs has bleu on train; scored is dev.*"),
        (["show", "{}"], r".* holds no run \(it has no config.gin\)"),
    ],
)
def test_bad_input_ends_with_one_line(scored, args, message):
    require_one_line(run_command("runs", *(arg.format(scored[0]) for arg in args)), message)
