"""`translate` as a process between two pipes: it answers as it is asked, loses nothing, and ends quietly."""

import re
import signal
from itertools import islice
from typing import NamedTuple

import pytest
from mixed_lines import Kinds, feed, mixed_lines, translating

from experiments.workdir import read_vocabulary

BLOCK = mixed_lines(Kinds(ordinary=1_400, strange=63, long=4), seed=3)
LINES = [*BLOCK, *BLOCK[::-1]]
BLANK = [line for line in BLOCK if not line.decode(errors="replace").strip()]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    return tmp_path_factory.mktemp("compiled")


class Streamed(NamedTuple):
    code: int
    translations: list[bytes]  # all that came out while more might still have gone in
    after: bytes  # and after Ctrl-C
    told: list[str]


@pytest.fixture(scope="module")
def streamed(trained, compiled, tmp_path_factory):
    said = tmp_path_factory.mktemp("said") / "said"
    with said.open("wb") as stderr, translating(trained, compiled, stderr=stderr) as process:
        feeder = feed(process, LINES)
        translations = list(islice(process.stdout, len(LINES)))
        feeder.join()
        process.send_signal(signal.SIGINT)
        after = process.stdout.read()
    return Streamed(process.returncode, translations, after, said.read_text(encoding="utf-8").splitlines())


def test_a_line_out_for_each_line_in_while_the_input_is_open(streamed):
    assert len(streamed.translations) == len(LINES)
    assert streamed.after == b""


def test_in_order_whatever_the_neighbours(streamed):
    """The second half of the lines is the first the other way round."""
    half = streamed.translations[: len(BLOCK)]
    assert streamed.translations[len(BLOCK) :] == half[::-1]
    assert len(set(half)) > 5, "what is the same for all lines has no order"
    assert {half[BLOCK.index(line)] for line in BLANK} == {b"\n"}


def numbers(told, pattern):
    return [int(match[1]) for line in told if (match := re.fullmatch(f"line (\\d+) {pattern}", line))]


def test_what_is_wrong_with_a_line_is_told_by_its_number(streamed, trained):
    texts = [line.removesuffix(b"\n").decode(errors="replace") for line in LINES]
    lengths = [len(ids) for ids in read_vocabulary(trained).encode_all(texts)]
    assert numbers(streamed.told, r"is not UTF-8 \(.+ at byte \d+\)") == [
        number for number, line in enumerate(LINES, start=1) if not is_utf_8(line)
    ]
    for length in {length for length in lengths if length > 36}:
        assert numbers(streamed.told, f"has {length} tokens: only the first 36 were translated") == [
            number for number, own in enumerate(lengths, start=1) if own == length
        ]
    assert max(lengths) >= 10_000


def is_utf_8(line):
    try:
        return line.decode() is not None
    except UnicodeDecodeError:
        return False


def test_ctrl_c_is_one_word(streamed):
    assert (streamed.code, streamed.told[-1]) == (130, "interrupted")
    assert all(line.startswith("line ") for line in streamed.told[:-1])


def test_a_reader_that_has_gone_is_no_error(trained, compiled, tmp_path):
    """As in `translate | head -3`. The first translations come while the writer has more to say."""
    with (
        (tmp_path / "said").open("wb") as stderr,
        translating(trained, compiled, stderr=stderr) as process,
    ):
        feed(process, LINES[:3]).join()
        assert len(list(islice(process.stdout, 3))) == 3
        process.stdout.close()
        feed(process, LINES[:3]).join()
        process.stdin.close()
    told = (tmp_path / "said").read_text().splitlines()
    assert process.returncode == 1
    assert all(line.startswith("line ") for line in told)
