"""Parts follow one another, from any pair on; names and identities tell sources apart; in memory all is as streamed."""

import gzip
import hashlib
import json
import os
import subprocess
import sys
import types
from pathlib import Path

import pytest
from readings import reading

from transformer_jax.data import corpus as corpus_module
from transformer_jax.data.corpus import Corpus, CorpusError, read_corpus, read_pairs, source_identity

TABLES = (("a.tsv",), ("b.en", "b.de"), ("c.tsv.gz",))
PAIRS = [("one", "eins"), ("two", "zwei"), ("three", "drei"), ("four", "vier"), ("five", "fünf"), ("six", "sechs")]


def read(source, *args, **kwargs):
    return read_corpus(source, reading(*args, **kwargs))


def identity(source, *args, **kwargs):
    return source_identity(source, reading(*args, **kwargs))


def write(path, content):
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())


@pytest.fixture
def three_parts(tmp_path):
    write(tmp_path / "a.tsv", "one\teins\ntwo\tzwei\n")
    write(tmp_path / "b.en", "three\n")
    write(tmp_path / "b.de", "drei\n")
    write(tmp_path / "c.tsv.gz", "four\tvier\nfive\tfünf\nsix\tsechs\n")
    return tmp_path


@pytest.mark.parametrize("start", range(8))
def test_parts_follow_one_another_from_any_pair_on(three_parts, start):
    assert list(read_pairs(TABLES, reading(three_parts), start=start)) == PAIRS[start:]


def test_a_corpus_is_what_is_streamed(three_parts):
    corpus = read(TABLES, three_parts)
    assert list(zip(corpus.sources, corpus.targets, strict=True)) == PAIRS
    assert len(corpus) == len(PAIRS)
    assert corpus.name == f"{three_parts}/a.tsv + {three_parts}/b.en and {three_parts}/b.de + {three_parts}/c.tsv.gz"


def test_pairs_come_before_a_later_part_is_opened(three_parts):
    pairs = read_pairs((("a.tsv",), ("absent.tsv",)), reading(three_parts))
    assert [next(pairs), next(pairs)] == PAIRS[:2]
    with pytest.raises(CorpusError, match=r"absent\.tsv: No such file"):
        next(pairs)


def test_one_string_is_one_part_and_two_strings_are_two_sides(three_parts):
    assert len(read("a.tsv", three_parts)) == 2
    assert read(("b.en", "b.de"), three_parts).targets == ["drei"]


def test_absolute_paths_ignore_the_directory(three_parts):
    assert len(read(str(three_parts / "a.tsv"), three_parts / "elsewhere")) == 2


def test_home_is_a_tilde(three_parts, monkeypatch):
    monkeypatch.setenv("HOME", str(three_parts))
    assert len(read("~/a.tsv", "/elsewhere")) == len(read("a.tsv", "~")) == 2


def test_fingerprint_is_of_the_text_not_of_the_files(tmp_path):
    write(tmp_path / "t.tsv", "a\tb\nc\td\n")
    write(tmp_path / "a.en.gz", "a\nc\n")
    write(tmp_path / "a.de", "b\nd")
    fingerprint = read("t.tsv", tmp_path).fingerprint
    assert fingerprint == read(("a.en.gz", "a.de"), tmp_path).fingerprint
    others = [
        Corpus("", ["b", "d"], ["a", "c"]),
        Corpus("", ["a", "c"], ["b", "e"]),
        Corpus("", ["c", "a"], ["d", "b"]),
    ]
    assert len({fingerprint, *(corpus.fingerprint for corpus in others)}) == 4


def test_sides_of_a_corpus_are_as_long_as_each_other():
    with pytest.raises(CorpusError, match="somewhere: 1 sources but 2 targets"):
        Corpus("somewhere", ["a"], ["b", "c"])


@pytest.mark.parametrize("share", ["", "[0%:1%]"])
def test_an_empty_corpus_is_an_error(tmp_path, share):
    write(tmp_path / "t.tsv", "Hi.\tHallo!\n" if share else "")
    assert list(read_pairs(f"t.tsv{share}", reading(tmp_path))) == []
    with pytest.raises(CorpusError) as caught:
        read(f"t.tsv{share}", tmp_path)
    assert str(caught.value) == f"{tmp_path}/t.tsv{share}: holds no sentence pairs"


@pytest.mark.parametrize("of", [lambda source: read(source), lambda source: identity(source)])
@pytest.mark.parametrize("source", ["train.en", "tdfs:wmt14_translate/de-en:train", "", "t.tsvx", "t.tsv.gzip"])
def test_an_unknown_kind_of_source_lists_the_kinds(source, of):
    with pytest.raises(CorpusError, match="must be two paths, one path ending in"):
        of(source)


@pytest.mark.parametrize("of", [read, identity])
@pytest.mark.parametrize("first", ["tfds:wmt14_translate/de-en:train", "builtin:train", "a.tsv", "a.txt[2,1]"])
def test_two_corpora_are_not_two_sides_of_one(first, of):
    message = "two strings are one file a language, but .* holds both; for two parts write"
    for pair in ((first, "b.txt"), ("b.txt", first)):
        with pytest.raises(CorpusError, match=message) as caught:
            of(pair)
        assert str(caught.value).endswith(f"write (('{pair[0]}',), ('{pair[1]}',))")


def test_builtin_pairs_come_from_the_builtin_corpus(monkeypatch):
    calls = []

    def builtin_pairs(*arguments):
        calls.append(arguments)
        return [("one", "eins"), ("two", "zwei")]

    module = types.SimpleNamespace(builtin_pairs=builtin_pairs)
    monkeypatch.setitem(sys.modules, "transformer_jax.data.builtin", module)
    corpus = read("builtin:dev")
    assert (corpus.sources, corpus.targets, corpus.name) == (["one", "two"], ["eins", "zwei"], "builtin:dev")
    assert calls == [("en", "de", "dev")]
    for of in (read, identity):
        with pytest.raises(CorpusError, match="the split must be train, dev or test"):
            of("builtin:valid")


def test_identity_survives_json_and_the_second_look(three_parts):
    found = identity((*TABLES, ("builtin:dev",)), three_parts)
    assert json.loads(json.dumps(found)) == found == identity((*TABLES, ("builtin:dev",)), three_parts)


def test_identity_differs_where_the_pairs_may(three_parts):
    """Other languages, order, columns, shares or splits, and each file that changes."""
    sources = [
        *TABLES,
        TABLES,
        TABLES[::-1],
        "a.tsv[2,1]",
        "a.tsv[0%:9%]",
        ("b.de", "b.en"),
        "builtin:dev",
        "builtin:test",
    ]
    found = [identity(source, three_parts) for source in sources]
    found.append(identity(TABLES, three_parts, target_language="fr"))
    for name in ("a.tsv", "b.en", "b.de", "c.tsv.gz"):
        os.utime(three_parts / name, ns=(5, 7))
        found.append(identity(TABLES, three_parts))
    assert len({json.dumps(each) for each in found}) == len(found)


def test_identity_reads_no_text(three_parts):
    (three_parts / "a.tsv").write_bytes(b"\xff no table\n")
    assert identity("a.tsv", three_parts)
    with pytest.raises(CorpusError, match="not UTF-8"):
        read("a.tsv", three_parts)


def test_identity_of_a_missing_file_is_an_error(three_parts):
    for source in ("absent.tsv", ("b.en", "absent.tsv.txt"), (("a.tsv",), ("absent.tsv",))):
        with pytest.raises(CorpusError, match=r"absent\.tsv.*: No such file or directory"):
            identity(source, three_parts)


def test_identity_of_the_builtin_corpus_is_of_what_makes_it(tmp_path, monkeypatch):
    before = identity("builtin:dev")
    package = Path(corpus_module.__file__).parent
    for name in ("builtin.py", "phrases.py"):
        assert hashlib.sha256((package / name).read_bytes()).hexdigest() in str(before)
        (tmp_path / name).write_bytes((package / name).read_bytes())
    monkeypatch.setattr(corpus_module, "__file__", str(tmp_path / "corpus.py"))
    assert identity("builtin:dev") == before
    (tmp_path / "phrases.py").write_text("# changed")
    assert identity("builtin:dev") != before
    monkeypatch.undo()
    versions = {"Babel": "1", "num2words": "2"}
    monkeypatch.setattr("importlib.metadata.version", versions.__getitem__)
    assert {"Babel 1", "num2words 2"} <= set(identity("builtin:dev")[-1])


def test_text_files_cost_no_tfds_import():
    code = "import sys, transformer_jax.data.prepared; sys.exit('tensorflow_datasets' in sys.modules)"
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


def test_newstest2009_keeps_its_lines(shared):
    directory = shared / "data/newstest/extra"
    corpus = read(("newstest2009.en-de.en.gz", "newstest2009.en-de.de.gz"), directory)
    assert len(corpus) == 2525
    assert any("\x85" in target for target in corpus.targets)


def test_tatoeba_is_read_inside_its_archive_and_divided_by_english_sentence(shared):
    directory = shared / "data/tatoeba"
    shares = [
        read(f"deu-eng.2018-05-13.zip/deu.txt[{share}]", directory) for share in ("0%:96%", "96%:98%", "98%:100%")
    ]
    assert sum(map(len, shares)) == 169_813
    sides = [set(share.sources) for share in shares]
    assert len(set.union(*sides)) == sum(map(len, sides)) == 135_534
    assert all(2500 < len(side) < 2900 for side in sides[1:])
