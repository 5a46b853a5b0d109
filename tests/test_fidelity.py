"""The fidelity checklist names files and tests that exist, says nothing twice and leaves no section out."""

import ast
import functools
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from experiments import fidelity
from experiments.fidelity import FidelityError, read_checklist, to_markdown

ROOT = Path(__file__).resolve().parents[1]
LIST, PAGE = ROOT / "docs" / "fidelity.toml", ROOT / "docs" / "fidelity.md"
CHECKLIST = read_checklist(LIST)
NAMED_TESTS = sorted({test for statement in CHECKLIST.all for test in statement.tests})
SECTIONS = {"3.1", "3.2.1", "3.2.2", "3.2.3", "3.3", "3.4", "3.5", "4", "5.1", "5.2", "5.3", "5.4", "6.1", "6.2"}


@functools.cache
def default_tests(path: Path) -> frozenset[str]:
    """The test functions of a file that run by default, wherever the checkout lies: not slow, needing no shared data.

    No import: decorators and `pytestmark` are read as text, and as the parameters of a function its fixtures.
    """
    if not (path.is_file() and path.match("test_*.py")):
        return frozenset()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    marks = [
        node for node in tree.body if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node.targets[0])
    ]
    if any("slow" in ast.unparse(mark.value) for mark in marks):
        return frozenset()
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef) and runs_by_default(node))


def runs_by_default(function: ast.FunctionDef) -> bool:
    marks = " ".join(ast.unparse(decorator) for decorator in function.decorator_list)
    is_fixture = '"shared"' not in marks.replace("'", '"')  # and no parameter of that name
    needs_data = is_fixture and any(argument.arg == "shared" for argument in function.args.args)
    return function.name.startswith("test_") and not needs_data and not re.search(r"mark\.(slow|skip|xfail)", marks)


def is_default_test(test: str, root: Path = ROOT) -> bool:
    file, separator, name = test.partition("::")
    return bool(separator) and file.startswith("tests/") and name in default_tests(root / file)


@pytest.mark.parametrize("test", NAMED_TESTS)
def test_a_named_test_is_one_that_runs_by_default(test):
    assert is_default_test(test)


def test_what_does_not_run_by_default_is_no_test(tmp_path):
    """Else the rule above could not fail."""
    functions = "def test_a(): ...\n@pytest.mark.slow\ndef test_b(): ...\ndef test_c(shared): ...\ndef helper(): ...\n"
    (tmp_path / "tests").mkdir()
    texts = {"test_x": functions, "test_slow": f"pytestmark = pytest.mark.slow\n{functions}", "x": functions}
    for name, text in texts.items():
        (tmp_path / "tests" / f"{name}.py").write_text(text)
    named = [
        f"tests/{file}.py::{name}"
        for file in (*texts, "test_none")
        for name in ("test_a", "test_b", "test_c", "helper")
    ]
    assert [test for test in named if is_default_test(test, tmp_path)] == ["tests/test_x.py::test_a"]
    assert not is_default_test("tests/test_x.py", tmp_path)


def test_what_is_implemented_has_a_place_and_tests_and_what_is_missing_has_none():
    for statement in CHECKLIST.held + CHECKLIST.departs:
        assert (ROOT / statement.file).is_file(), statement.text
        assert statement.file.startswith(("transformer_jax/", "experiments/", "gin_configs/")), statement.text
        assert len(set(statement.tests)) == len(statement.tests) > 0, statement.text
    for statement in CHECKLIST.missing:
        assert (statement.file, statement.tests, statement.here) == ("", (), ""), statement.text


def test_departures_alone_say_what_is_done_instead():
    assert all(statement.here for statement in CHECKLIST.departs)
    assert not any(statement.here for statement in CHECKLIST.held)


def test_nothing_is_said_twice():
    texts = Counter(statement.text for statement in CHECKLIST.all)
    assert [text for text, times in texts.items() if times > 1] == []


def test_every_section_appears_in_the_paper_s_order():
    held = [statement.section for statement in CHECKLIST.held]
    assert set(held) >= SECTIONS
    for statements in (CHECKLIST.departs, CHECKLIST.missing, [row for row in CHECKLIST.held if "." in row.section]):
        assert [row.section for row in statements] == sorted(row.section for row in statements)
    assert {row.section for row in CHECKLIST.missing} >= {"6.3"} - set(held), "parsing is there, or said to be missing"


def test_departures_that_the_readme_lists_are_those_listed_here():
    section = (
        (ROOT / "README.md").read_text(encoding="utf-8").split("## Departures from the paper\n")[1].split("\n## ")[0]
    )
    rows = re.findall(r"^\| ([^|]+?) \|", section, re.MULTILINE)[1:]
    assert len(rows) > 5
    assert {statement.readme for statement in CHECKLIST.all if statement.readme} == set(rows)


def test_the_page_is_what_the_command_writes(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    monkeypatch.setattr(sys, "argv", ["fidelity", f"--into={page}"])
    fidelity.main()
    assert page.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8"), "run python -m experiments.fidelity"
    assert capsys.readouterr().out == f"written: {page}\n"


def test_links_lead_somewhere_and_rows_are_whole():
    text = PAGE.read_text(encoding="utf-8")
    links = set(re.findall(r"\]\(([^)]+)\)", text))
    assert len(links) > 30
    assert [link for link in sorted(links) if not (PAGE.parent / link).is_file()] == []
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({row.count("|") for row in table.splitlines()}) == 1
    for statement in CHECKLIST.all:
        assert f"| {statement.text} |" in text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[held]", "Expected"),
        ("[[kept]]\nsection = '3.1'", "kept is none of held, departs, missing"),
        ("[[held]]\nsection = '3.1'\ntext = 'x'", "'x': missing 1 required positional argument: 'source'"),
        ("[[held]]\nsection = '3.1'\ntext = 'x'\nsource = 'paper'\nsauce = ''", "unexpected keyword argument 'sauce'"),
        ("[[held]]\nsection = 3.1\ntext = 'x'\nsource = 'paper'", "only tests may be anything else than a string"),
        ("[[held]]\nsection = '3.1'\ntext = 'x'\nsource = 'me'", "source = 'me' must be one of paper, code, derived"),
        ("[[held]]\nsection = '7.1'\ntext = 'x'\nsource = 'paper'", "section = '7.1' must be in one of 3, 4, 5, 6"),
    ],
)
def test_a_wrong_list_is_one_clear_line(text, reason, tmp_path):
    path = tmp_path / "list.toml"
    path.write_text(text)
    with pytest.raises(FidelityError) as raised:
        read_checklist(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert reason in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_statement_without_a_test_says_so():
    statement = fidelity.Statement("3.1", "Something.", "paper", "transformer_jax/config.py")
    page = to_markdown(fidelity.Checklist((statement,), (), ()))
    assert "| Something. | paper | [`transformer_jax/config.py`](../transformer_jax/config.py) | no test |" in page
