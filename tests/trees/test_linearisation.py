"""A tree as tokens and back: the paper's and the code's examples by hand, and every tree exactly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees.made_trees import TREES, UNHURRIED

from transformer_jax.trees.bracket_files import parse_tree
from transformer_jax.trees.linearisation import delinearised, linearised
from transformer_jax.trees.symbols import Symbol, read, written
from transformer_jax.trees.tree import Tree, TreeError

JOHN = parse_tree("(S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .))")
LEAVES = st.sampled_from(["tags", "blanks", "words"])


@pytest.mark.parametrize(
    ("leaves", "expected"),
    [
        ("tags", "S NP NNP /NP VP VBZ NP DT NN /NP /VP . /S"),
        ("blanks", "S NP XX /NP VP XX NP XX XX /NP /VP XX /S"),
        ("words", "S NP John /NP VP has NP a dog /NP /VP . /S"),
    ],
)
def test_by_hand(leaves, expected):
    assert " ".join(linearised(JOHN, leaves)) == expected


@pytest.mark.parametrize(
    ("text", "leaves", "expected"),
    [
        ("(NN (NN a))", "tags", "(NN NN /NN"),
        ("(NN (NN (NN a)) (NP b))", "tags", "(NN (NN NN /NN (NP) /NN"),
        ("(/NP (/ /) (: /))", "tags", "(/NP (/) : //NP"),
        ("(NP (ART ein) (NN Hund))", "tags", "NP (ART) NN /NP"),
        ("(XX (NN a))", "blanks", "(XX XX /XX"),
        ("(NN (NN a))", "blanks", "NN XX /NN"),
        ("(NP (NN NP) (: /) (NN b))", "words", "(NP NP (/) b /NP"),
        ("(UH hm)", "tags", "UH"),
    ],
)
def test_what_the_code_leaves_in_doubt(text, leaves, expected):
    tree = parse_tree(text)
    assert " ".join(linearised(tree, leaves)) == expected
    assert delinearised(expected.split(" "), tree.words(), leaves, tags_of(tree)) == tree


def tags_of(tree: Tree):
    """Gives each word of a tree its own tag, one after the other."""
    tags = iter(tree.tags())
    return lambda _: next(tags)


@UNHURRIED
@given(TREES, LEAVES)
def test_there_and_back(tree, leaves):
    tokens = linearised(tree, leaves)
    assert " ".join(tokens).split(" ") == tokens
    assert delinearised(tokens, tree.words(), leaves, tags_of(tree)) == tree


@UNHURRIED
@given(TREES)
def test_blanks_and_words_do_not_say_the_tags(tree):
    blank = tree.fold(lambda leaf: Tree("XX", word=leaf.word), lambda part, children: Tree(part.label, tuple(children)))
    assert linearised(tree, "blanks") == linearised(blank, "blanks")
    assert delinearised(linearised(tree, "blanks"), tree.words(), "blanks") == blank
    assert delinearised(linearised(tree, "words"), tree.words(), "words") == blank


@UNHURRIED
@given(st.sampled_from(["opening", "leaf", "closing"]), st.text("NP/X-1", min_size=1), st.sets(st.text("NP/X-1")))
def test_a_symbol_is_read_as_it_was_written_whatever_is_a_leaf(kind, name, names):
    symbol = Symbol(kind, name)
    assert read(written(symbol, names), names) == symbol


@pytest.mark.parametrize("token", ["", "/", "(", ")", "()", "(NP(", "NP)", "a b", "/N P", "((NN)", "/(NN"])
def test_no_symbols(token):
    assert read(token, {"NN"}) is None


@pytest.mark.parametrize(
    ("tokens", "needed"),
    [
        ("S NP NNP /NP VBZ DT NN .", "1 closings added"),
        ("S NP NNP /NP VBZ DT NN /S", "1 leaves added"),
        ("S NNP VBZ DT NN . . /S", "1 leaves dropped"),
        ("S NNP VBZ DT NN . /NP /S", "1 closings dropped"),
        ("NP NNP VBZ /NP NP DT NN . /NP", "1 roots added"),
        ("S NNP NP /NP VBZ DT NN . /S", "1 constituents dropped"),
        ("S NNP / VBZ DT NN . /S", "1 tokens dropped"),
    ],
)
def test_what_is_no_tree_is_an_error(tokens, needed):
    with pytest.raises(TreeError, match=f"no tree over these 5 words: it would need {needed}$"):
        delinearised(tokens.split(" "), JOHN.words())


def test_other_words_are_an_error():
    with pytest.raises(TreeError, match="1 leaves replaced"):
        delinearised(["NP", "(cat)", "/NP"], ["dog"], "words")


def test_a_bracket_without_a_label_has_no_token():
    with pytest.raises(TreeError, match="without a label"):
        linearised(parse_tree("( (S (NN a)))"))
