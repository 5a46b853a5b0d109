"""What is kept of the training trees is what stands in them."""

import dataclasses

import pytest
from readings import TREES

from transformer_jax.data.tree_inventory import TreeInventoryError, load_inventory, read_inventory

# "walks" is a verb twice and a noun once, "can" once each: the first in alphabetical order. NN is the most frequent.
TEXT = """
(TOP (S (NP (NNP Käthe)) (VP (VBZ walks))))
(TOP (S (NP-SBJ (NN dog)) (VP (VBZ walks) (NP (-NONE- *)))))
(TOP (NP (NN dog) (NNS walks)))
(TOP (S (NP (NN can)) (VP (MD can) (VP (VB rain)))))
(TOP (NP (-NONE- *)))
"""
OTHER = "(TOP (NP (NN rain) (NN day) (`` ``) (, ,)))"


@pytest.fixture
def home(tmp_path):
    (tmp_path / "a.mrg").write_text(TEXT, encoding="utf-8")
    (tmp_path / "b.mrg").write_text(OTHER)
    (tmp_path / "pairs.tsv").write_text("no tree\tno tree\n")
    return tmp_path


def stock(home, source=(("trees:a.mrg",), ("pairs.tsv",), ("trees:b.mrg",)), **settings):
    return read_inventory(source, str(home), dataclasses.replace(TREES, **settings))


def test_tokens_are_those_of_the_targets(home):
    labels = {"S", "NP", "VP"}
    tags = {"NNP", "VBZ", "NN", "NNS", "MD", "VB", "``", ","}
    assert stock(home).tokens == sorted(labels | {f"/{label}" for label in labels} | tags)
    assert stock(home, leaves="blanks").tokens == sorted(labels | {f"/{label}" for label in labels} | {"XX"})
    assert stock(home, leaves="words").tokens == []
    assert "NP-SBJ" in stock(home, remove_function_labels=False).tokens


def test_each_word_has_its_most_frequent_tag(home):
    found = stock(home)
    wanted = {
        "Käthe": "NNP",
        "walks": "VBZ",
        "dog": "NN",
        "can": "MD",
        "rain": "NN",
        "day": "NN",
        ",": ",",
        "new": "NN",
    }
    assert {word: found.tag_of(word) for word in wanted} == wanted
    assert found.tag == "NN"
    assert found.tag_of("never read") == "NN"


def test_each_word_has_all_its_tags_the_most_frequent_first(home):
    lexicon = stock(home).lexicon
    assert lexicon["walks"] == ["VBZ", "NNS"]
    assert lexicon[","] == [","]
    assert "*" not in lexicon, "a trace is no word"


def test_the_most_constituents_that_begin_at_one_word(home):
    """In "S NP" two do, in "S NP /NP VP ..." no more; the unary chain of the third tree begins four."""
    assert stock(home).most_openings == 2
    (home / "c.mrg").write_text("(TOP (S (NN a) (NP (NP (VP (S (NN b)) (NN c)) (NP (NN d)))) (NN e)))")
    assert stock(home, "trees:c.mrg").most_openings == 4


def test_an_inventory_of_before_there_was_a_lexicon_is_refused(home):
    stock(home).save(home / "trees.json")
    text = (home / "trees.json").read_text(encoding="utf-8")
    (home / "trees.json").write_text(text.replace('"lexicon"', '"tags"'), encoding="utf-8")
    with pytest.raises(TreeInventoryError, match=r"trees\.json: no inventory .*; the command that trained the run"):
        load_inventory(home / "trees.json")


def test_trees_and_what_was_cleaned_of_them_are_counted(home):
    found = stock(home)
    assert (found.trees, found.left_out) == (6, 1)
    assert found.changes == {"emptied constituents": 3, "function labels": 1, "outer labels": 5, "traces": 2}
    assert stock(home, "trees:b.mrg").changes == {"outer labels": 1}


def test_saved_and_loaded_it_is_the_same(home):
    stock(home).save(home / "trees.json")
    assert load_inventory(home / "trees.json") == stock(home)
    assert "Käthe" in (home / "trees.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", [None, "", "[]", '{"tokens": []}', '{"more": 1}'])
def test_something_else_is_refused_by_name(tmp_path, text):
    if text is not None:
        (tmp_path / "trees.json").write_text(text)
    with pytest.raises(TreeInventoryError, match=r"trees\.json: no inventory of training trees"):
        load_inventory(tmp_path / "trees.json")
