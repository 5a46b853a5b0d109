"""Results come into docs and README by the program, and what is around them, or cannot be made again, stays."""

import re
from pathlib import Path

import pytest
from tiny_commands import PROJECT_ROOT, require_one_line, run_command, snapshot

from experiments.docs import REPORTED, STEPS, Step, done
from experiments.reporting.kinds import KINDS
from experiments.reporting.pages import contents, page_of

BEGIN, END = "<!-- results: written by experiments.report -->\n", "<!-- end of results -->\n"
README = (PROJECT_ROOT / "README.md").read_text(encoding="utf-8")
DOCS = PROJECT_ROOT / "docs"


@pytest.fixture
def home(tmp_path) -> Path:
    """A page with old results, and two folders with new ones."""
    (tmp_path / "page.md").write_text(f"above\n{BEGIN}old\n{END}below\n")
    for name, text in (("slow", "3 apples.\n\n1 apple/s\n"), ("fast", "3 pears.\n\n2 pears/s\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "benchmark.md").write_text(text)
    return tmp_path


def report(home: Path, *names: str):
    return run_command("report", *(str(home / name) for name in names), f"--into={home / 'page.md'}")


def test_each_folder_has_a_page_and_a_line(home):
    ended = report(home, "slow", "fast")
    assert (ended.code, ended.err) == (0, "")
    lines = "- [slow](docs/slow.md): 3 apples.\n- [fast](docs/fast.md): 3 pears.\n"
    assert (home / "page.md").read_text() == f"above\n{BEGIN}\n{lines}\n{END}below\n"
    page = (home / "docs" / "slow.md").read_text()
    assert page.startswith(f"# slow\n\n<!-- written by experiments.report from {home / 'slow'} -->\n\n3 apples.\n\n")
    assert page.endswith("1 apple/s\n")
    assert page.count("apples") == 1
    before = snapshot(home)
    assert report(home, "slow", "fast").code == 0
    assert snapshot(home) == before


def test_what_is_not_there_any_more_stays_as_it_was_written(home):
    assert report(home, "slow", "fast").code == 0
    before = (home / "docs" / "slow.md").read_text()
    (home / "slow" / "benchmark.md").unlink()
    (home / "fast" / "benchmark.md").write_text("4 pears.\n\n3 pears/s\n")
    ended = report(home, "slow", "fast", "never")
    assert ended.code == 0
    assert ended.err.splitlines() == [
        f"{home / name} holds no results: {home / 'docs' / name}.md stays as it is" for name in ("slow", "never")
    ]
    assert (home / "docs" / "slow.md").read_text() == before
    assert "- [slow](docs/slow.md): 3 apples.\n- [fast](docs/fast.md): 4 pears.\n\n" in (home / "page.md").read_text()
    assert not (home / "docs" / "never.md").exists()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.file.endswith(".md")], ids=lambda kind: kind.file)
def test_every_kind_of_folder_is_reported_with_its_pictures(home, kind):
    folder = home / "kind"
    folder.mkdir()
    (folder / kind.file).write_text("# A title\n\n| a | 7.25 |\n")
    (folder / "table3_conclusions.md").write_text("Of 29 statements, holds: 29.\n")
    for picture in kind.pictures:
        (folder / picture.file).write_bytes(picture.file.encode())
    assert report(home, "kind").code == 0
    page = (home / "docs" / "kind.md").read_text()
    assert "| a | 7.25 |\n" in page
    assert [line for line in page.split("\n") if line.startswith("# ")] == ["# kind"]
    copies = re.findall(r"!\[[^]]+\]\(([^)]+)\)", page)
    assert [(home / "docs" / copy).read_text() for copy in copies] == [picture.file for picture in kind.pictures]


def test_a_folder_may_hold_several_things(home):
    (home / "slow" / "averaging.md").write_text("# By count\n\n| 5 | 41.0 |\n")
    (home / "slow" / "averaging.png").write_bytes(b"picture")
    assert report(home, "slow").code == 0
    page = (home / "docs" / "slow.md").read_text()
    assert page.index("| 5 | 41.0 |") < page.index("](slow_averaging.png)") < page.index("1 apple/s")
    assert (home / "docs" / "slow_averaging.png").read_bytes() == b"picture"


def test_other_pages_are_not_overwritten(home):
    (home / "docs").mkdir()
    (home / "docs" / "slow.md").write_text("# slow\n\nby hand\n")
    before = snapshot(home)
    require_one_line(report(home, "slow"), r"\S+/docs/slow.md is another's page: \S+/slow needs another name")
    require_one_line(report(home, "fast", "slow/../fast"), r"2 folders are called fast, and would have one page")
    assert snapshot(home) == before


def test_the_readme_s_results_are_those_of_its_pages():
    written = README.split(BEGIN)[1].split(END)[0]
    pages = [page for folder in REPORTED if (page := page_of(Path(folder), DOCS)).exists()]
    assert len(pages) > 3
    assert written == f"\n{contents(pages, PROJECT_ROOT)}\n", "run make docs"


def test_pages_say_what_they_were_written_from_and_their_links_lead_somewhere():
    for folder in REPORTED:
        page = page_of(Path(folder), DOCS)
        if page.exists():
            assert (
                page.read_text(encoding="utf-8").split("\n")[2]
                == f"<!-- written by experiments.report from {folder} -->"
            )
    for page in [PROJECT_ROOT / "README.md", *DOCS.glob("*.md")]:
        links = re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
        assert [link for link in links if not (page.parent / link).exists()] == [], page


def test_what_the_steps_write_is_reported():
    written = {folder for step in STEPS for folder in re.findall(r"--workdir=(\S+)", step.command)}
    assert written <= set(REPORTED)


def test_a_step_whose_run_is_missing_says_so_and_is_no_failure(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert done(Step("python -c raise(SystemExit(1))", ("runs/none",)))
    assert capsys.readouterr().out == (
        "not there: runs/none; left as it stands: python -c raise(SystemExit(1))\n"
    )  # fmt: skip
    (tmp_path / "runs" / "none").mkdir(parents=True)
    assert not done(Step("python -c raise(SystemExit(1))", ("runs/none",)))
    assert done(Step("python -c open('new','w')", ("runs/none",)))
    assert (tmp_path / "new").exists()
