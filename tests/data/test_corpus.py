"""Lines end at newlines only; sides stay in step; each thing that can be wrong with a file is one clear line."""

import gzip
import subprocess
import sys
import types
from pathlib import Path

import pytest

from transformer_jax.data.corpus import Corpus, CorpusError, read_corpus

SHARED = Path(__file__).resolve().parents[3] / "shared"


def read(source, directory="", source_language="en", target_language="de"):
    return read_corpus(
        source, directory=str(directory), source_language=source_language, target_language=target_language
    )


def write(path, content):
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def test_only_newlines_end_lines(tmp_path):
    odd = "a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029i\rj"
    write(tmp_path / "a.en", f"{odd}\nsecond\n")
    write(tmp_path / "a.de", "erste\nzweite\n")
    assert read(("a.en", "a.de"), tmp_path).sources == [odd, "second"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [("x\n", ["x"]), ("x", ["x"]), ("x\n\n", ["x", ""]), ("\nx", ["", "x"]), ("\n", [""]), ("x\r\n", ["x\r"])],
)
def test_a_last_newline_ends_a_line_and_adds_none(tmp_path, text, lines):
    write(tmp_path / "a.en", text)
    write(tmp_path / "a.de", text)
    assert read(("a.en", "a.de"), tmp_path).targets == lines


def test_compression_is_decided_by_suffix(tmp_path):
    write(tmp_path / "a.en", "one\ntwo\n")
    write(tmp_path / "a.de.gz", "eins\nzwei\n")
    corpus = read(("a.en", "a.de.gz"), tmp_path)
    assert (corpus.sources, corpus.targets, len(corpus)) == (["one", "two"], ["eins", "zwei"], 2)


@pytest.mark.parametrize("name", ["t.tsv", "t.txt", "t.tsv.gz", "t.txt.gz"])
def test_tab_separated_pairs_ignore_further_columns(tmp_path, name):
    write(tmp_path / name, "one\teins\ntwo\tzwei\tlicence\tmore\n\tnull\n")
    corpus = read(name, tmp_path)
    assert corpus.sources == ["one", "two", ""]
    assert corpus.targets == ["eins", "zwei", "null"]


def test_absolute_paths_ignore_the_directory(tmp_path):
    write(tmp_path / "t.tsv", "a\tb\n")
    assert len(read(str(tmp_path / "t.tsv"), tmp_path / "elsewhere")) == 1


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


def test_unequal_counts_name_both_files_and_both_counts(tmp_path):
    write(tmp_path / "a.en", "1\n2\n3\n")
    write(tmp_path / "a.de", "1\n2\n")
    with pytest.raises(CorpusError, match=r"a\.en has 3 lines but .*a\.de has 2: must be parallel"):
        read(("a.en", "a.de"), tmp_path)


@pytest.mark.parametrize("name", ["absent.tsv", "absent.tsv.gz"])
def test_a_missing_file_is_named(tmp_path, name):
    with pytest.raises(CorpusError, match=rf"{name}: No such file or directory"):
        read(name, tmp_path)


@pytest.mark.parametrize("name", ["t.tsv", "t.tsv.gz"])
def test_invalid_utf8_names_file_and_line(tmp_path, name):
    write(tmp_path / name, "a\tb\nc\u2028\td\n".encode() + b"e\t\xff\n")
    with pytest.raises(CorpusError, match=rf"{name}, line 3: not UTF-8"):
        read(name, tmp_path)


def test_a_line_without_a_tab_is_named(tmp_path):
    write(tmp_path / "t.tsv", "a\tb\nno tab\n")
    with pytest.raises(CorpusError, match=r"t\.tsv, line 2: no tab"):
        read("t.tsv", tmp_path)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-9], lambda _: b"plain text", lambda data: data[:20] + b"\xff\xff" + data[22:]]
)
def test_a_damaged_gzip_file_is_named(tmp_path, damage):
    (tmp_path / "t.tsv.gz").write_bytes(damage(gzip.compress(b"some\ttext and more of it\n" * 9)))
    with pytest.raises(CorpusError, match=r"t\.tsv\.gz: damaged gzip file"):
        read("t.tsv.gz", tmp_path)


def test_an_empty_corpus_is_an_error(tmp_path):
    write(tmp_path / "t.tsv", "")
    with pytest.raises(CorpusError, match=r"t\.tsv: holds no sentence pairs"):
        read("t.tsv", tmp_path)


@pytest.mark.parametrize("source", ["train.en", "tdfs:wmt14_translate/de-en:train", ""])
def test_an_unknown_kind_of_source_lists_the_kinds(source):
    with pytest.raises(CorpusError, match="must be two paths, one path ending in"):
        read(source)


@pytest.mark.parametrize("source", ["tfds:wmt14_translate/de-en", "tfds::train", "tfds:"])
def test_a_tfds_source_needs_builder_and_split(source):
    with pytest.raises(CorpusError, match='must be "tfds:builder/config:split"'):
        read(source)


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
    with pytest.raises(CorpusError, match="the split must be train, dev or test"):
        read("builtin:valid")


def test_tfds_direction_follows_the_languages():
    tfds = pytest.importorskip("tensorflow_datasets")
    with tfds.testing.mock_data(num_examples=3):
        forward = read("tfds:wmt14_translate/de-en:train")
        backward = read("tfds:wmt14_translate/de-en:train", source_language="de", target_language="en")
    assert len(forward) == 3
    assert forward.sources == backward.targets != forward.targets
    assert forward.targets == backward.sources


@pytest.mark.parametrize("pair", ["de-en", "fr-en"])
def test_tfds_wmt14_has_the_paper_s_dev_and_test_sets(pair, tmp_path):
    """Section 6: newstest2013 and newstest2014. Configs name splits; which sets these are is the data set's to say."""
    wmt14 = pytest.importorskip("tensorflow_datasets.translate.wmt14")
    subsets = wmt14.Wmt14Translate(config=pair, data_dir=str(tmp_path)).subsets
    assert {str(split): sets for split, sets in subsets.items() if split != "train"} == {
        "validation": ["newstest2013"],
        "test": ["newstest2014"],
    }
    assert {"europarl_v7", "commoncrawl", "newscommentary_v9"} <= set(subsets["train"])


def test_tfds_language_must_be_in_the_data_set():
    tfds = pytest.importorskip("tensorflow_datasets")
    with (
        tfds.testing.mock_data(num_examples=3),
        pytest.raises(CorpusError, match="de-en:train: has no language 'fr', only de, en"),
    ):
        read("tfds:wmt14_translate/de-en:train", target_language="fr")


class Examples(list):
    dataset_info = types.SimpleNamespace(features={"de": None, "en": None})


def test_tfds_bytes_become_text(monkeypatch):
    tfds = pytest.importorskip("tensorflow_datasets")
    examples = Examples([{"de": "über".encode(), "en": b"over"}])
    monkeypatch.setattr(
        tfds,
        "data_source",
        lambda name, split: examples if (name, split) == ("wmt14_translate/de-en", "train[:1]") else None,
    )
    corpus = read("tfds:wmt14_translate/de-en:train[:1]")
    assert (corpus.sources, corpus.targets) == (["over"], ["über"])


def test_a_failed_download_is_one_clear_line(monkeypatch):
    tfds = pytest.importorskip("tensorflow_datasets")

    def fail(*_, **__):
        raise ConnectionError("HTTP 503\nand a long explanation")

    monkeypatch.setattr(tfds, "data_source", fail)
    with pytest.raises(CorpusError, match=r"de-en:train: TensorFlow Datasets cannot provide it: HTTP 503$"):
        read("tfds:wmt14_translate/de-en:train")


def test_an_unknown_tfds_configuration_is_an_error():
    pytest.importorskip("tensorflow_datasets")
    with pytest.raises(CorpusError, match=r"xx-yy:train: TensorFlow Datasets cannot provide it: .*xx-yy"):
        read("tfds:wmt14_translate/xx-yy:train")


def test_text_files_cost_no_tfds_import():
    code = "import sys, transformer_jax.data.prepared; sys.exit('tensorflow_datasets' in sys.modules)"
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0


def test_newstest2009_keeps_its_lines():
    directory = SHARED / "data/newstest/extra"
    if not directory.exists():
        pytest.skip("newstest is not here")
    corpus = read(("newstest2009.en-de.en.gz", "newstest2009.en-de.de.gz"), directory)
    assert len(corpus) == 2525
    assert any("\x85" in target for target in corpus.targets)
