"""A run's numbers come into its page from what it scored, and from nowhere else."""

import json

import pytest
from tiny_commands import require_one_line, run_command

PAGE = "above\n<!-- results: written by experiments.report -->\nold\n<!-- end of results -->\nbelow\n"


@pytest.fixture
def scored(copied):
    assert run_command("evaluate", f"--workdir={copied}").code == 0
    return copied


def test_it_writes_what_the_run_scored(scored, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert run_command("report", str(scored), f"--into={page}").code == 0
    entry = json.loads((scored / "results.json").read_text())["test"]
    written = (tmp_path / "docs" / "run.md").read_text()
    (row,) = [line for line in written.split("\n") if line.startswith("| test |")]
    cells = [cell.strip() for cell in row.replace(r"\|", "/").strip("|").split("|")]
    assert cells[1] == "11"
    assert cells[2].startswith(f"**{entry['bleu']['value']:.2f}** = ")
    assert cells[3] == "`" + entry["bleu"]["signature"].replace("|", "/") + "`"
    assert cells[4] == f"{entry['paper_bleu']['value']:.2f}"
    assert f"BLEU, paper's protocol: {entry['paper_bleu']['signature']}" in written
    assert entry["command"] in written
    assert "150 of at most 150 updates" in written
    (line,) = [line for line in page.read_text().split("\n") if line.startswith("- ")]
    assert line.startswith("- [run](docs/run.md): test: BLEU ")
    for told in (f"**{entry['bleu']['value']:.2f}**", entry["bleu"]["signature"]):
        assert told in line
    before = page.read_text(), written
    assert run_command("report", str(scored), f"--into={page}").code == 0
    assert (page.read_text(), (tmp_path / "docs" / "run.md").read_text()) == before
    del entry["paper_bleu"]  # as in results of before it was measured
    (scored / "results.json").write_text(json.dumps({"test": entry}))
    assert run_command("report", str(scored), f"--into={page}").code == 0
    assert "paper's protocol: " not in (tmp_path / "docs" / "run.md").read_text()


def test_a_page_without_marks_and_damaged_scores_are_refused(copied, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("no marks\n")
    require_one_line(run_command("report", str(copied), f"--into={page}"), r".*must hold the two marks.*")
    page.write_text(PAGE)
    (copied / "results.json").write_text("[]")
    require_one_line(run_command("report", str(copied), f"--into={page}"), r"\S+/results.json is not a JSON object")
    assert page.read_text() == PAGE
