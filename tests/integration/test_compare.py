"""`compare` on runs that were trained and scored: one model, two ways to search, and one that is half done."""

import json
import shutil

import pytest
from tiny_commands import run_command, snapshot

from experiments.gin_bindings import load_experiment, resolved

BINDINGS = ["--gin_param=Decoding.beam_size = 1", "--gin_param=Decoding.max_extra_length = 0"]


@pytest.fixture(scope="module")
def runs(trained, tmp_path_factory):
    """The same run scored with its own search, once more, and with a worse one."""
    home = tmp_path_factory.mktemp("compare")
    for name, bindings in (("own", []), ("greedy", BINDINGS)):
        shutil.copytree(trained, home / name)
        assert run_command("evaluate", f"--workdir={home / name}", "--show=0", *bindings).code == 0
    shutil.copytree(home / "own", home / "again")
    shutil.copytree(trained, home / "unscored")
    return home


def compared(home, a, b, *flags):
    before = snapshot(home / a), snapshot(home / b)
    ended = run_command("compare", str(home / a), str(home / b), *flags)
    assert (ended.code, ended.err) == (0, "")
    assert (snapshot(home / a), snapshot(home / b)) == before
    return ended.out.decode()


def count(runs):
    """How many settings there are."""
    return len(resolved(load_experiment([runs / "own" / "config.gin"])))


def test_a_run_and_its_copy_are_identical(runs):
    printed = compared(runs, "own", "again")
    assert f"All {count(runs)} settings are the same." in printed
    assert "A and B are identical on this split" in printed


def test_another_search_is_named_as_what_differs(runs):
    printed = compared(runs, "own", "greedy")
    entries = [json.loads((runs / name / "results.json").read_text())["test"] for name in ("own", "greedy")]
    settings = printed.split("## progress")[0]
    assert [line.split()[1] for line in settings.splitlines() if line.startswith("| Decoding")] == [
        "Decoding.beam_size", "Decoding.max_extra_length",
    ]  # fmt: skip
    assert f"2 of {count(runs)} settings differ" in settings
    (bleu,) = [line for line in printed.splitlines() if line.startswith("| BLEU ")]
    assert [cell.strip() for cell in bleu.split("|")[2:4]] == [f"{entry['bleu']['value']:.2f}" for entry in entries]
    assert "150 of 150" in printed
    texts = [(runs / name / "translations.test.txt").read_text().splitlines() for name in ("own", "greedy")]
    differing = sum(ours != theirs for ours, theirs in zip(*texts, strict=True))
    assert differing, "the worse search changes something"
    assert f"{differing} of 11 are translated differently" in printed
    assert "p = " in printed
    assert compared(runs, "own", "greedy") == printed


def test_a_run_that_is_not_scored(runs, tmp_path):
    printed = compared(runs, "own", "unscored", f"--into={tmp_path}")
    assert "B has not been scored on test yet" in printed
    assert (tmp_path / "compare.png").stat().st_size > 10_000
