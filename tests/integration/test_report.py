"""The README's numbers come from the runs, and nothing around them changes."""

import json

import pytest
from tiny_commands import run_command

PAGE = "above\n<!-- results: written by experiments.report -->\nold\n<!-- end of results -->\nbelow\n"


@pytest.fixture
def scored(copied):
    assert run_command("evaluate", f"--workdir={copied}").code == 0
    return copied


def test_it_writes_what_the_run_scored(scored, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert run_command("report", str(scored), f"--into={page}").code == 0
    written = page.read_text()
    assert written.startswith("above\n")
    assert written.endswith("\nbelow\n")
    assert "old" not in written
    entry = json.loads((scored / "results.json").read_text())["test"]
    (row,) = [line for line in written.split("\n") if line.startswith("| test |")]
    cells = [cell.strip() for cell in row.replace(r"\|", "/").strip("|").split("|")]
    assert cells[2].startswith(f"**{entry['bleu']['value']:.2f}** = ")
    assert cells[3] == "`" + entry["bleu"]["signature"].replace("|", "/") + "`"
    assert cells[1] == "11"
    assert entry["command"] in written
    assert "150 of at most 150 updates" in written
    assert run_command("report", str(scored), f"--into={page}").code == 0
    assert page.read_text() == written


def test_a_page_without_marks_and_a_run_without_scores_are_refused(copied, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("no marks\n")
    ended = run_command("report", str(copied), f"--into={page}")
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert "must hold the two marks" in ended.err
    page.write_text(PAGE)
    (copied / "results.json").unlink(missing_ok=True)
    ended = run_command("report", str(copied), f"--into={page}")
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert "has no results.json: evaluate the run first" in ended.err
    assert page.read_text() == PAGE
