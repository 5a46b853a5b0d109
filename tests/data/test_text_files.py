"""Lines end at newlines only; files are read as streams; each thing that can be wrong with one is one clear line."""

import gzip
import hashlib
import itertools
import os
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from transformer_jax.data.text_files import (
    CorpusError,
    Table,
    file_identity,
    hundredth,
    parallel_pairs,
    parse_table,
    read_lines,
    table_pairs,
)

BREAKS = "a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029i\rj"  # what str.splitlines takes for line ends
KINDS = ["file", "file.gz", "archive.zip/folder/file", "archive.zip/file.gz"]


def write(directory, name, content):
    """Bytes or text under a name of any kind: plain, .gz, a member of a zip archive, or both."""
    data = content.encode() if isinstance(content, str) else content
    data = gzip.compress(data) if name.endswith(".gz") else data
    archive, member_of, member = name.rpartition(".zip/")
    if not member_of:
        (directory / name).write_bytes(data)
        return directory / name
    with zipfile.ZipFile(directory / f"{archive}.zip", "a", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr(member, data)
    return directory / name


def read_table(text, directory):
    return list(table_pairs(parse_table(text, str(directory))))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("x\n", ["x"]),
        ("x", ["x"]),
        ("x\n\n", ["x", ""]),
        ("\nx", ["", "x"]),
        ("\n", [""]),
        ("x\r\ny\r", ["x\r", "y\r"]),
        (f"{BREAKS}\n{BREAKS}", [BREAKS, BREAKS]),
    ],
)
def test_only_a_newline_ends_a_line_and_the_last_adds_none(tmp_path, kind, text, lines):
    assert list(read_lines(write(tmp_path, kind, text))) == lines


@pytest.mark.parametrize("kind", KINDS)
def test_memory_is_bounded(tmp_path, kind):
    """16 MiB of text in a peak of 2."""
    path = write(tmp_path, kind, (b"a few words " * 85 + b"\n") * 16_000)
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_lines(path)) == 16_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * 2**20


def test_what_comes_before_an_error_is_read(tmp_path):
    lines = read_lines(write(tmp_path, "a.en", b"one\ntwo\n\xff\n"))
    assert [next(lines), next(lines)] == ["one", "two"]
    with pytest.raises(CorpusError, match=r"a\.en, line 3: not UTF-8 \(invalid start byte\)"):
        next(lines)


@pytest.mark.parametrize(("sources", "targets"), [(3, 2), (2, 3), (5, 1), (0, 4)])
def test_unequal_counts_name_both_files_and_both_counts(tmp_path, sources, targets):
    source, target = write(tmp_path, "a.en", "x\n" * sources), write(tmp_path, "a.de.gz", "y\n" * targets)
    message = rf"a\.en has {sources} lines but .*a\.de\.gz has {targets}: must be parallel"
    with pytest.raises(CorpusError, match=message):
        list(parallel_pairs(source, target))


@pytest.mark.parametrize("name", ["absent.tsv", "absent.tsv.gz", "absent.zip/a.tsv"])
def test_a_missing_file_is_named(tmp_path, name):
    found = name.split("/")[0]
    for read in (lambda path: list(read_lines(path)), file_identity):
        with pytest.raises(CorpusError, match=rf"{found}: No such file or directory"):
            read(tmp_path / name)
    with pytest.raises(CorpusError, match=f"{tmp_path}: Is a directory"):
        list(read_lines(tmp_path))


@pytest.mark.parametrize(("kept", "more"), [(-9, b""), (-2, b""), (12, b""), (None, b"rubbish"), (0, b"plain text")])
def test_what_is_no_whole_gzip_file_is_named(tmp_path, kept, more):
    (tmp_path / "t.gz").write_bytes(gzip.compress(b"text\n" * 99)[:kept] + more)
    with pytest.raises(CorpusError, match=r"t\.gz: damaged gzip file"):
        list(read_lines(tmp_path / "t.gz"))


@pytest.mark.parametrize(("name", "kind"), [("t.gz", "gzip file"), ("t.zip/t", "zip archive")])
def test_a_flipped_byte_is_found(tmp_path, name, kind):
    """Wherever it is in the compressed text: either what is decompressed is damaged, or its checksum is wrong."""
    text = "".join(f"{hashlib.md5(str(n).encode()).hexdigest()}\n" for n in range(200))
    write(tmp_path, name, text)
    file = tmp_path / name.split("/")[0]
    whole = file.read_bytes()
    for place in (100, len(whole) // 2, 3000):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with pytest.raises(CorpusError, match=f"{name}: damaged {kind}"):
            list(read_lines(tmp_path / name))


def test_what_is_no_zip_archive_is_named(tmp_path):
    write(tmp_path, "t.zip", "plain text")
    with pytest.raises(CorpusError, match=r"t\.zip/a: damaged zip archive \(File is not a zip file\)"):
        list(read_lines(tmp_path / "t.zip/a"))


def test_an_unknown_member_lists_the_members(tmp_path):
    write(tmp_path, "t.zip/deu.txt", "")
    write(tmp_path, "t.zip/about/us.txt", "")
    with pytest.raises(CorpusError, match=r"t\.zip: has no member 'about/deu\.txt', only deu\.txt, about/us\.txt$"):
        list(read_lines(tmp_path / "t.zip/about/deu.txt"))
    for number in range(99):
        write(tmp_path, f"t.zip/member{number}", "")
    with pytest.raises(CorpusError, match=r"only deu\.txt, about/us\.txt, member0, .{400,500} \.\.\.$"):
        list(read_lines(tmp_path / "t.zip/absent"))


def test_an_encrypted_member_is_an_error(tmp_path):
    write(tmp_path, "t.zip/a", "text")
    data = bytearray((tmp_path / "t.zip").read_bytes())
    for header, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(header) + flags] |= 1  # bit 0: encrypted
    (tmp_path / "t.zip").write_bytes(data)
    with pytest.raises(CorpusError, match=r"t\.zip/a: .*encrypted"):
        list(read_lines(tmp_path / "t.zip/a"))


def test_a_folder_may_be_named_like_an_archive(tmp_path):
    (tmp_path / "t.zip").mkdir()
    (tmp_path / "t.zip/a").write_text("text\n")
    assert list(read_lines(tmp_path / "t.zip/a")) == ["text"]


@pytest.mark.parametrize("name", ["t.tsv", "t.txt", "t.tsv.gz", "t.txt.gz", "t.zip/t.txt"])
def test_tables_ignore_further_columns(tmp_path, name):
    write(tmp_path, name, "one\teins\ntwo\tzwei\tlicence\tmore\n\tnull\n")
    assert read_table(name, tmp_path) == [("one", "eins"), ("two", "zwei"), ("", "null")]


def test_columns_are_chosen_by_number(tmp_path):
    write(tmp_path, "t.tsv", "1\tone\teins\tun\n2\ttwo\tzwei\tdeux\n")
    assert read_table("t.tsv[2,4]", tmp_path) == [("one", "un"), ("two", "deux")]
    assert read_table("t.tsv[3,2][0%:100%]", tmp_path) == [("eins", "one"), ("zwei", "two")]


@pytest.mark.parametrize(
    ("options", "column"), [("", 2), ("[2,1]", 2), ("[1,3]", 3), ("[0%:1%]", 2), ("[99%:100%]", 2)]
)
def test_a_line_of_too_few_columns_is_named_in_any_share(tmp_path, options, column):
    write(tmp_path, "t.tsv", "a\tb\tc\nno tab\n")
    with pytest.raises(CorpusError, match=rf"t\.tsv, line 2: no tab before column {column}"):
        read_table(f"t.tsv{options}", tmp_path)


def test_shares_partition_a_table_by_source_sentence(tmp_path):
    """Every pair is in one share, in order; equal source sentences are in the same one."""
    pairs = [(f"sentence {n % 700}", f"Satz {n}") for n in range(2000)]
    write(tmp_path, "t.tsv", "".join(f"{source}\t{target}\n" for source, target in pairs))
    bounds = [0, 1, 40, 41, 96, 98, 100]
    shares = [read_table(f"t.tsv[{a}%:{b}%]", tmp_path) for a, b in itertools.pairwise(bounds)]
    assert sorted(itertools.chain(*shares)) == sorted(pairs)
    sides = [{source for source, _ in share} for share in shares]
    assert sum(map(len, sides)) == 700
    for share in shares:
        assert share == [pair for pair in pairs if pair in set(share)]
    assert 0.35 < len(sides[1]) / 700 < 0.43  # 39 %, give or take two standard deviations


def test_hundredths_are_the_same_everywhere_and_even():
    """A split must not move between versions, so values are written down; they are those of `b2sum -l 64`."""
    assert [hundredth(text) for text in ("Hi.", "", "Grüß Gott!")] == [78, 76, 63]
    counts = [0] * 100
    for number in range(100_000):
        counts[hundredth(str(number))] += 1
    # chi-squared with 99 degrees of freedom: above 149 once in a thousand seeds, and this one is fixed
    assert sum((count - 1000) ** 2 / 1000 for count in counts) < 149


def test_the_share_is_of_the_source_column(tmp_path):
    write(tmp_path, "t.tsv", "".join(f"x\t{n}\n" for n in range(100)))
    expected = [(str(n), "x") for n in range(100) if hundredth(str(n)) < 50]
    assert read_table("t.tsv[2,1][0%:50%]", tmp_path) == expected


BAD_SHARES = [
    "[5%:5%]",
    "[6%:5%]",
    "[0%:101%]",
    "[0:96]",
    "[-1%:5%]",
    "[0.5%:9%]",
    "[0%:9%",
    "[0%:9%]x",
    "[0%:96%][2,1]",
]
BAD_COLUMNS = ["[1,1]", "[0,1]", "[1]", "[1,2,3]", "[1,2", "[2,1][3,1]", "[a,b]", "[", "[]", "[]]"]


@pytest.mark.parametrize("options", BAD_SHARES + BAD_COLUMNS)
def test_bad_options_are_one_clear_line(options):
    with pytest.raises(CorpusError, match=r"may end in columns as in \[2,1\] .* share as in \[0%:96%\]") as caught:
        parse_table(f"t.tsv{options}", "")
    assert f"t.tsv{options}" in str(caught.value)


def test_brackets_before_the_name_are_part_of_the_path():
    table = parse_table("a.txt[1]/t.tsv[3,1][5%:9%]", "folder")
    assert table == Table(Path("folder/a.txt[1]/t.tsv"), 2, 0, range(5, 9))


@pytest.mark.parametrize(("name", "file"), [("a.tsv", "a.tsv"), ("t.zip/a.tsv", "t.zip")])
def test_identity_follows_size_and_time_of_change(tmp_path, name, file):
    path = write(tmp_path, name, "a\tb\n")
    seen = [file_identity(path)]
    assert file_identity(path) == seen[0]
    assert seen[0][:2] == [str(path.resolve()), (tmp_path / file).stat().st_size]
    (tmp_path / "linked").symlink_to(tmp_path)
    assert file_identity(tmp_path / "linked" / name) == seen[0]
    os.utime(tmp_path / file, ns=(5, 7))
    seen.append(file_identity(path))
    with (tmp_path / file).open("ab") as appended:
        appended.write(b"c\td\n")
    os.utime(tmp_path / file, ns=(5, 7))
    seen.append(file_identity(path))
    assert len({tuple(identity) for identity in seen}) == 3
