"""`score`: a line for each pair, in order, whatever the pair.

That a run's own translations get the score that the search gave them is held by the tests of `evaluate`.
"""

import gzip
import json
import shutil

import pytest
from tiny_commands import require_one_line, run_command, sentence_pairs

from experiments import score
from experiments.workdir import read_vocabulary
from transformer_jax.special_ids import EOS_ID

PAIRS = [
    *sentence_pairs(17, 2),
    ("the old cat", ""),
    ("", "die alte Katze"),
    ("", ""),
    ("猫 \x85 sees", "Katze\u2028sieht"),
]


@pytest.fixture(scope="module")
def run(trained, tmp_path_factory):
    """A copy, since averaged weights are kept there."""
    return shutil.copytree(trained, tmp_path_factory.mktemp("score") / "run")


def written(folder, pairs):
    paths = []
    for name, side in zip(("source.txt", "target.txt.gz"), zip(*pairs, strict=True), strict=True):
        data = "".join(f"{line}\n" for line in side).encode()
        (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        paths.append(folder / name)
    return [f"--source={paths[0]}", f"--target={paths[1]}"]


def lines_of(run, folder, pairs, *args):
    ended = run_command("score", f"--workdir={run}", *written(folder, pairs), *args)
    assert (ended.code, ended.err) == (0, "")
    return ended.out.decode().split("\n")[:-1]


@pytest.fixture(scope="module")
def rows(run, tmp_path_factory):
    """The JSON of each pair."""
    return [json.loads(line) for line in lines_of(run, tmp_path_factory.mktemp("text"), PAIRS, "--json")]


def test_json_has_a_line_for_each_pair_whose_parts_agree(run, rows):
    vocabulary = read_vocabulary(run)
    assert len(rows) == len(PAIRS)
    for row, (_, target) in zip(rows, PAIRS, strict=True):
        assert row["tokens"] == vocabulary.tokens([*vocabulary.encode(target), EOS_ID])
        assert len(row["token_log_probs"]) == len(row["tokens"])
        assert row["log_prob"] == pytest.approx(sum(row["token_log_probs"]), abs=1e-5)
        assert row["score"] == pytest.approx(row["log_prob"] / ((5 + len(row["tokens"])) / 6) ** 0.6)
    assert rows[0]["score"] > rows[18]["score"], "the run has learned its language"


def test_columns_say_the_same(run, rows, tmp_path, monkeypatch):
    """Some pairs at a time, on the way."""
    monkeypatch.setattr(score, "_PAIRS_AT_A_TIME", 11)
    for line, row in zip(lines_of(run, tmp_path, PAIRS, "--tokens"), rows, strict=True):
        first, second, *rest = line.split("\t")
        assert [float(first), float(second)] == pytest.approx([row["score"], row["log_prob"]], abs=1e-5)
        shown = [part.rsplit(":", 1) for part in rest]
        assert [token for token, _ in shown] == row["tokens"]
        assert [float(log_prob) for _, log_prob in shown] == pytest.approx(row["token_log_probs"], abs=1e-5)


def test_no_pairs_are_no_lines(run, tmp_path):
    empty = tmp_path / "empty"
    empty.write_text("")
    ended = run_command("score", f"--workdir={run}", f"--source={empty}", f"--target={empty}")
    assert (ended.code, ended.out, ended.err) == (0, b"", "")


def cut_the_target(_source, target):
    target.write_text("die\n" * 2)


def remove_the_source(source, _target):
    source.unlink()


def spoil_a_byte(_source, target):
    target.write_bytes(b"die\ncaf\xe9\ndie\n")


def write_a_long_line(source, _target):
    source.write_text("the\nthe\n" + "the big old cat " * 12 + "\n")


BAD = {
    "unequal counts": (cut_the_target, r"\S+/a has 3 lines but \S+/b has 2: must be parallel"),
    "missing file": (remove_the_source, r"\S+/a: No such file or directory"),
    "not UTF-8": (spoil_a_byte, r"\S+/b, line 2: not UTF-8 \(.*\)"),
    "too long": (
        write_a_long_line, r"\S+/a, line 3: a sequence of \d+ tokens is longer than Model\.max_length = 37",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_text_is_one_line(run, tmp_path, case):
    spoil, pattern = BAD[case]
    paths = tmp_path / "a", tmp_path / "b"
    for path in paths:
        path.write_text("die\n" * 3)
    spoil(*paths)
    require_one_line(run_command("score", f"--workdir={run}", f"--source={paths[0]}", f"--target={paths[1]}"), pattern)


def test_two_forms_at_once_are_refused(run):
    flags = ["--source=a", "--target=b", "--tokens", "--json"]
    require_one_line(
        run_command("score", f"--workdir={run}", *flags), r"argument --json: not allowed with argument --tokens \(.*\)"
    )
