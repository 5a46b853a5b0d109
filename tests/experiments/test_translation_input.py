"""Lines are what stands between line feeds, however they arrive; none waits for what may still come."""

import random
from itertools import pairwise

import pytest

from experiments.translation.input_lines import Line, PrefixError, Round, rounds, with_prefixes
from transformer_jax.data.text_files import CorpusError


class Arriving:
    """A stream whose reads give what has arrived since the last one."""

    def __init__(self, *parts: bytes):
        self.parts = list(parts)

    def read1(self, _size):
        return self.parts.pop(0) if self.parts else b""


def texts(*parts, at_most=1000):
    return [[line.text for line in lines] for lines in rounds(Arriving(*parts), at_most)]


def test_by_hand():
    assert texts(b"a\nb\n\nc", b"", b"never") == [["a", "b", ""], ["c"]]
    assert texts(b"a\n") == [["a"]]
    assert texts(b"\n") == [[""]]
    assert texts(b"a", b"b", b"\nc\n") == [["ab", "c"]]
    assert texts() == []


@pytest.mark.parametrize("seed", range(20))
def test_lines_do_not_depend_on_how_they_arrive(seed):
    rng = random.Random(seed)
    data = bytes(rng.choices(b"ab\n\r\x00\x85\x0c", k=rng.randint(1, 200)))
    expected = data.removesuffix(b"\n").decode(errors="replace").split("\n")
    cuts = sorted({0, len(data), *rng.choices(range(len(data)), k=9)})
    parts = [data[start:end] for start, end in pairwise(cuts)]
    at_most = rng.randint(1, 7)
    found = texts(*parts, at_most=at_most)
    assert [line for lines in found for line in lines] == expected
    assert all(1 <= len(lines) <= at_most for lines in found)


def test_no_line_waits_for_what_may_still_come():
    stream = Arriving(b"a\nb\nbegun", b" now\nc\n", b"d\n")
    found = rounds(stream, 1000)
    for expected, left in ((["a", "b"], 2), (["begun now", "c"], 1), (["d"], 0)):
        assert [line.text for line in next(found)] == expected
        assert len(stream.parts) == left
    assert list(found) == []


def test_a_character_may_arrive_in_two_parts():
    assert texts(b"caf\xc3", b"\xa9\n") == [["café"]]


def test_what_is_not_utf_8_is_told_and_replaced():
    assert list(rounds(Arriving(b"ab\xff\ncaf\xc3\xa9\n\xc3"), 1000)) == [
        [Line("ab\ufffd", ["is not UTF-8 (invalid start byte at byte 2)"]), Line("café", [])],
        [Line("\ufffd", ["is not UTF-8 (unexpected end of data at byte 0)"])],
    ]


def a_round(*lines):
    return [Line(line, []) for line in lines]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "prefixes"
    path.write_text("eins\n\nzwei\u2028drei\n", encoding="utf-8")
    return path


def test_each_line_has_its_prefix(path):
    lines = [a_round("a", "b"), a_round("c")]
    assert list(with_prefixes(lines, path)) == [Round(lines[0], ["eins", ""]), Round(lines[1], ["zwei\u2028drei"])]


def test_without_a_file_there_are_none():
    assert list(with_prefixes([a_round("a")], None)) == [Round(a_round("a"), None)]


def test_fewer_prefixes_than_lines(path):
    found = with_prefixes([a_round("a", "b"), a_round("c", "d")], path)
    assert next(found).prefixes == ["eins", ""]
    with pytest.raises(PrefixError, match=r"/prefixes has 3 lines, standard input has more: must be as many"):
        next(found)


def test_more_prefixes_than_lines(path):
    found = with_prefixes([a_round("a")], path)
    assert next(found).prefixes == ["eins"]
    with pytest.raises(PrefixError, match=r"/prefixes has 3 lines, standard input has 1: must be as many"):
        next(found)


def test_prefixes_that_cannot_be_read(tmp_path):
    (tmp_path / "prefixes").write_bytes(b"\xff\n")
    for name, told in (("prefixes", "/prefixes, line 1: not UTF-8"), ("absent", "/absent: No such file")):
        with pytest.raises(CorpusError, match=told):
            next(with_prefixes([a_round("a")], tmp_path / name))
