"""Hostile text in every kind of file: it passes unchanged, or one clear error names file and line. Nothing is lost."""

import gzip
import re
import zipfile

import pytest
from readings import reading

from transformer_jax.data.corpus import CorpusError, read_corpus

PASSES = {
    "next line": "a\x85b\x85",
    "line separator": "\u2028a\u2028b",
    "paragraph separator": "a\u2029",
    "no-break space": "\xa0a\xa0",
    "byte order mark": "\ufeffa",
    "carriage return at the end": "a\r",
    "carriage return inside": "a\rb",
    "NUL": "a\0b\0",
    "other controls": "\x01\x0b\x0c\x1a\x1c\x1d\x1e\x1f\x7f\x9f",
    "emoji": "👩🏽‍🚀 🏳️‍🌈 ☕️",
    "right to left": "\u202bשלום عليكم\u202c \u200f",
    "combining marks, not composed": "a\u0308 e\u0301 \u1100\u1161",
    "beyond the basic plane": "\U0010ffff 𝔘",
    "noncharacters": "\ufffe\uffff",
    "replacement character": "\ufffd",
    "empty": "",
    "blanks": "   ",
    "quotes": '"a \'"" \\',
    "markup": '<seg id="1">&amp;&#10;</seg>\\n\\t',
    "100,000 characters": "ä" * 100_000,
    "100,000 words": "a " * 100_000,
}
FAILS = {
    "a byte of no character": b"\xff",
    "Latin-1": "Grüß Gott".encode("latin-1"),
    "UTF-16": "a\u0a61".encode("utf-16"),
    "a surrogate": b"\xed\xa0\xbd\xed\xb8\x80",
    "an overlong NUL": b"\xc0\x80",
    "cut short": "ü".encode()[:1],
}
KINDS = ["parallel", "parallel gz", "parallel zip", "tsv", "tsv gz", "tsv zip"]


def write_corpus(folder, kind, pairs):
    """Writes pairs of bytes in files of a kind. Returns the source, and its file with the second side."""
    layout, _, packing = kind.partition(" ")
    if layout == "tsv":
        contents = {"pairs.tsv": b"".join(b"%b\t%b\n" % pair for pair in pairs)}
    else:
        contents = {f"text.{side}": b"".join(pair[side] + b"\n" for pair in pairs) for side in (0, 1)}
    names = [pack(folder, name, data, packing) for name, data in contents.items()]
    return (tuple(names) if len(names) == 2 else names[0]), names[-1]


def pack(folder, name, data, packing):
    if packing == "zip":
        with zipfile.ZipFile(folder / "text.zip", "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(name, data)
        return f"text.zip/{name}"
    name += ".gz" if packing else ""
    (folder / name).write_bytes(gzip.compress(data) if packing else data)
    return name


def read(source, folder):
    return read_corpus(source, reading(folder))


@pytest.mark.parametrize("kind", KINDS)
def test_text_passes_unchanged(tmp_path, kind):
    """Each text on either side and on both, plain lines between: what is read is what was written, line by line."""
    hostile = list(PASSES.values())
    pairs = [("first", "erste")]
    for text in hostile:
        pairs += [(text, "Satz"), ("sentence", text), (text, text), ("between", "dazwischen")]
    source, _ = write_corpus(tmp_path, kind, [(source.encode(), target.encode()) for source, target in pairs])
    corpus = read(source, tmp_path)
    found = list(zip(corpus.sources, corpus.targets, strict=True))
    assert len(found) == len(pairs)
    assert found == pairs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", FAILS.values(), ids=FAILS.keys())
def test_what_is_no_text_is_one_error_with_file_and_line(tmp_path, kind, bad):
    pairs = [(text.encode(), text.encode()) for text in PASSES.values()] + [(b"a", bad), (b"c", b"d")]
    source, file = write_corpus(tmp_path, kind, pairs)
    with pytest.raises(
        CorpusError, match=rf"{re.escape(file)}, line {len(PASSES) + 1}: not UTF-8 \([a-z ]+\)$"
    ) as caught:
        read(source, tmp_path)
    assert str(caught.value).startswith(str(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("tsv")])
@pytest.mark.parametrize("line", ["", "no tab", "a\x85b", "a\u2028", "a\x0bb"])
def test_a_table_s_line_without_a_tab_is_one_error_with_file_and_line(tmp_path, kind, line):
    """White space of other kinds is not a tab."""
    name = pack(tmp_path, "pairs.tsv", f"a\u2028\tb\x85\nc\rd\te\n{line}\nf\tg\n".encode(), kind.partition(" ")[2])
    with pytest.raises(CorpusError, match=rf"{re.escape(name)}, line 3: no tab before column 2"):
        read(name, tmp_path)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("parallel")])
@pytest.mark.parametrize("odd", ["\x85", "\u2028", "\r", "\x0c"])
def test_lines_are_counted_by_newlines_alone(tmp_path, kind, odd):
    """Three lines against four, though another reader of lines would count four in both."""
    packing = kind.partition(" ")[2]
    names = (
        pack(tmp_path, "text.0", f"a{odd}b\nc\nd\n".encode(), packing),
        pack(tmp_path, "text.1", b"a\nb\nc\nd\n", packing),
    )
    message = rf"{re.escape(names[0])} has 3 lines but .*{re.escape(names[1])} has 4: must be parallel"
    with pytest.raises(CorpusError, match=message):
        read(names, tmp_path)
