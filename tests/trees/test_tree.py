"""A tree is a value: equal to its like, written in one line, folded at any depth."""

import pytest
from hypothesis import given
from trees.made_trees import TREES, UNHURRIED, is_well_formed

from transformer_jax.trees.tree import Tree, TreeError

JOHN, DOG = Tree("NNP", word="John"), Tree("NN", word="dog")
NP = Tree("NP", (Tree("DT", word="a"), DOG))
SENTENCE = Tree("S", (Tree("NP", (JOHN,)), Tree("VP", (Tree("VBZ", word="has"), NP)), Tree(".", word=".")))


def test_a_tree_by_hand():
    assert str(SENTENCE) == "(S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .))"
    assert str(Tree("", (SENTENCE,))) == f"( {SENTENCE})"
    assert SENTENCE.words() == ["John", "has", "a", "dog", "."]
    assert SENTENCE.tags() == ["NNP", "VBZ", "DT", "NN", "."]
    assert [f"{kind} {tree.label}" for kind, tree in NP.walk()] == ["opening NP", "leaf DT", "leaf NN", "closing NP"]


def test_a_fold_gives_each_constituent_its_childrens_results():
    height = SENTENCE.fold(lambda _: 0, lambda _, heights: 1 + max(heights))
    words = SENTENCE.fold(lambda _: 1, lambda _, counts: sum(counts))
    assert (height, words, DOG.fold(lambda leaf: leaf.label, lambda *_: "none")) == (3, 5, "NN")


def test_trees_are_equal_by_what_they_say():
    same = Tree("NP", (Tree("DT", word="a"), Tree("NN", word="dog")))
    assert (same == NP, hash(NP) == hash(same), len({NP, same})) == (True, True, 1)
    others = [Tree("NP", (DOG,)), Tree("NX", NP.children), Tree("NP", (NP,)), DOG, JOHN, "(NP (DT a) (NN dog))"]
    assert not any(other == NP for other in others)


@pytest.mark.parametrize(
    ("label", "children", "word"),
    [
        ("NP", (), None), ("NP", (DOG,), "dog"), ("", (), "dog"), ("NN", (), ""), ("NN", (), "a b"), ("N(", (), "a"),
        ("N P", (DOG,), None), ("NN", (), "(a)"), ("NN", (), "a\n"), ("N\tP", (DOG,), None),
    ],
)  # fmt: skip
def test_what_is_no_tree(label, children, word):
    with pytest.raises(TreeError, match="tree "):
        Tree(label, children, word)


@UNHURRIED
@given(TREES)
def test_the_text_of_a_tree_is_well_formed(tree):
    assert is_well_formed(str(tree))
    assert "\n" not in str(tree)


@pytest.mark.usefixtures("unchecked_types")
def test_a_tree_may_be_as_deep_as_it_likes():
    tall, other = DOG, JOHN
    for _ in range(20_000):
        tall, other = Tree("X", (tall,)), Tree("X", (other,))
    assert tall.words() == ["dog"]
    assert tall != other
    assert len({tall, other}) == 2
    assert str(tall) == "(X " * 20_000 + "(NN dog)" + ")" * 20_000
