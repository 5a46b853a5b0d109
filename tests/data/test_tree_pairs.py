"""A treebank becomes pairs, cleaned as the settings say; its identity is that of its files and of these settings."""

import dataclasses
import gzip
import json
import os
import zipfile

import pytest
from readings import TREES, reading

from transformer_jax.data.corpus import CorpusError, read_corpus, read_pairs, source_identity
from transformer_jax.data.tree_pairs import cleaned_trees, is_of_trees, tree_parts
from transformer_jax.trees.tree import TreeError

FIRST = """
( (S (NP-SBJ-1 (NNP John))
     (VP (VBZ wants)
         (S (NP-SBJ (-NONE- *-1))
            (VP (TO to) (VP (VB sing)))))
     (. .)))
(TOP (X (-NONE- *)))
"""
SECOND = "(S1 (NP (NP (NN rain)) (-LRB- -LRB-) (NP (NNS clouds)) (-RRB- -RRB-)))\n"
THIRD = "( (NP (NN day)) )( (NP (NN night)) )"
NAMES = ("02/wsj_1.mrg", "02/wsj_2.mrg.gz", "10.mrg")  # folders are sorted with files
SENTENCES = ["John wants to sing .", "rain -LRB- clouds -RRB-", "day", "night"]


@pytest.fixture
def treebank(tmp_path):
    folder = tmp_path / "wsj"
    (folder / "02").mkdir(parents=True)
    (folder / NAMES[0]).write_text(FIRST)
    (folder / NAMES[1]).write_bytes(gzip.compress(SECOND.encode()))
    (folder / NAMES[2]).write_text(THIRD)
    return folder


def pairs(source, directory, **settings):
    return list(read_pairs(source, reading(directory, trees=dataclasses.replace(TREES, **settings))))


def targets(directory, **settings):
    return [target for _, target in pairs("trees:wsj", directory, **settings)]


def test_a_folder_is_all_its_files_by_name_and_a_sentence_of_traces_is_left_out(treebank):
    found = pairs("trees:wsj", treebank.parent)
    assert found == [
        (SENTENCES[0], "S NP NNP /NP VP VBZ S VP TO VP VB /VP /VP /S /VP . /S"),
        (SENTENCES[1], "NP NP NN /NP -LRB- NP NNS /NP -RRB- /NP"),
        (SENTENCES[2], "NP NN /NP"),
        (SENTENCES[3], "NP NN /NP"),
    ]
    one_by_one = tuple((f"trees:wsj/{name}",) for name in NAMES)
    for source in (f"trees:{treebank}", "trees:wsj/", one_by_one):
        assert pairs(source, treebank.parent) == found
    for start in range(6):
        assert list(read_pairs(one_by_one, reading(treebank.parent), start=start)) == found[start:]


def test_a_file_may_lie_in_an_archive(treebank):
    with zipfile.ZipFile(treebank.parent / "wsj.zip", "w") as archive:
        archive.write(treebank / NAMES[0], "02/wsj_1.mrg")
    assert pairs("trees:wsj.zip/02/wsj_1.mrg", treebank.parent) == pairs("trees:wsj", treebank.parent)[:1]


def test_each_setting_changes_what_it_names(treebank):
    home = treebank.parent
    with_traces = pairs("trees:wsj", home, remove_traces=False)
    assert [source for source, _ in with_traces] == ["John wants *-1 to sing .", "*", *SENTENCES[1:]]
    assert with_traces[0][1].startswith("S NP NNP /NP VP VBZ S NP -NONE- /NP VP")
    labelled = targets(home, remove_function_labels=False)
    assert labelled == [targets(home)[0].replace("NP", "NP-SBJ-1").replace("NNP-SBJ-1", "NNP"), *targets(home)[1:]]
    assert targets(home, leaves="blanks")[1] == "NP NP XX /NP XX NP XX /NP XX /NP"
    assert targets(home, leaves="words")[1] == "NP NP rain /NP -LRB- NP clouds /NP -RRB- /NP"
    (treebank / NAMES[2]).write_text("(S1 (NP (NP (NN day))))")
    assert targets(home)[2] == "NP NP NN /NP /NP"
    assert targets(home, collapse_unary_loops=True)[2] == "NP NN /NP"


def test_identity_is_of_every_file_and_setting(treebank):
    home = treebank.parent

    def identity(**settings):
        found = source_identity("trees:wsj", reading(home, trees=dataclasses.replace(TREES, **settings)))
        assert json.loads(json.dumps(found)) == found
        return found

    found = [identity()]
    assert identity() == found[0]
    found += [identity(**{field.name: False}) for field in dataclasses.fields(TREES)[:2]]
    found += [identity(collapse_unary_loops=True), identity(leaves="blanks"), identity(leaves="words")]
    for name in NAMES:
        os.utime(treebank / name, (1, 1))
        found.append(identity())
    (treebank / "11.mrg").write_text(THIRD)
    found.append(identity())
    assert len({json.dumps(each) for each in found}) == len(found) == 10


def test_settings_of_trees_are_nothing_to_other_corpora(tmp_path):
    (tmp_path / "t.tsv").write_text("a\tb\n")
    others = [reading(tmp_path, trees=dataclasses.replace(TREES, leaves=leaves)) for leaves in ("tags", "words")]
    assert source_identity("t.tsv", others[0]) == source_identity("t.tsv", others[1])


def test_parts_of_trees_are_told_from_others():
    mixed = (("trees:a",), ("b.tsv",), ("trees:c",))
    assert tree_parts(mixed) == ["trees:a", "trees:c"]
    assert not is_of_trees(mixed)
    assert not is_of_trees("treesa.tsv")
    assert is_of_trees("trees:a")
    assert is_of_trees((("trees:a",), ("trees:c",)))


def test_the_name_is_the_folder(treebank):
    assert read_corpus("trees:wsj", reading(treebank.parent)).name == str(treebank)


def test_the_built_in_treebank_needs_no_file():
    corpus = read_corpus("trees:builtin:dev", reading("/nowhere"))
    assert len(corpus) == 500
    assert corpus.name == "trees:builtin:dev"
    assert corpus.sources[0].endswith(" .")
    assert corpus.targets[0].startswith("S ")
    splits = [source_identity(f"trees:builtin:{split}", reading()) for split in ("dev", "test")]
    assert splits[0] != splits[1]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("trees:absent.mrg", r"absent\.mrg: No such file"),
        ("trees:", "corpus 'trees:': must be trees:PATH"),
        ("trees:empty", "corpus 'trees:empty': no file in this folder"),
        ("trees:builtin:valid", "corpus 'trees:builtin:valid': .*must be one of train, dev, test"),
        (("trees:wsj", "trees:wsj"), "two strings are one file a language, but 'trees:wsj' holds both"),
    ],
)
@pytest.mark.parametrize("of", [read_corpus, source_identity])
def test_what_is_no_treebank_is_said(treebank, source, message, of):
    (treebank.parent / "empty").mkdir()
    with pytest.raises(CorpusError, match=message):
        of(source, reading(treebank.parent))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(S (NP (NN day)))\n(S (NP", r"10\.mrg: ends inside the tree that begins in line 2"),
        ("(S\n(NP x) y)", r"10\.mrg, line 2: "),
        ("( (S (NN day)) (S (NN night)))", "trees:wsj/10.mrg, tree 1: a bracket without a label"),
    ],
)
def test_what_is_no_tree_is_said_with_its_place(treebank, text, message):
    (treebank / NAMES[2]).write_text(text)
    with pytest.raises(TreeError, match=message):
        read_corpus("trees:wsj/10.mrg", reading(treebank.parent))


def test_cleaned_trees_tell_what_was_cleaned(treebank):
    first, second, *_ = cleaned_trees("trees:wsj", str(treebank.parent), TREES)
    assert str(first.tree).startswith("(S (NP (NNP John)) (VP")
    assert first.changes == {"traces": 1, "emptied constituents": 1, "function labels": 1, "outer labels": 1}
    assert second.tree is None
