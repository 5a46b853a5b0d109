"""Bracket files: what is read, where trees begin and end, and what is wrong with a file."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees.made_trees import TREES, UNHURRIED

from transformer_jax.data.text_files import read_lines
from transformer_jax.trees.bracket_files import parse_tree, parse_trees
from transformer_jax.trees.tree import Tree, TreeError

DOG = Tree("NP", (Tree("DT", word="a"), Tree("NN", word="dog")))


def test_trees_on_one_line_and_on_several():
    lines = ["", "(NP (DT a) (NN dog))(NP (DT a)", "  (NN\tdog)", "\r", ") (NP (DT", "a)(NN dog))", "   ", "(UH hm)"]
    assert list(parse_trees(lines)) == [DOG, DOG, DOG, Tree("UH", word="hm")]


def test_outer_brackets_and_escaped_ones():
    assert parse_tree("( (NP (DT a) (NN dog)) )") == parse_tree("((NP (DT a)(NN dog)))") == Tree("", (DOG,))
    assert parse_tree("(TOP (NP (DT a) (NN dog)))") == Tree("TOP", (DOG,))
    assert parse_tree("(-LRB- -LRB-)") == Tree("-LRB-", word="-LRB-")
    assert parse_tree("(PRN (-LRB- [) (: --))").words() == ["[", "--"]


def test_other_white_space_belongs_to_words(tmp_path):
    path = tmp_path / "trees"
    path.write_bytes("(NP (CD 10\u00a0000)\n (NN a\u2028b\u0085))\n".encode())
    assert [tree.words() for tree in parse_trees(read_lines(path))] == [["10\u00a0000", "a\u2028b\u0085"]]


@UNHURRIED
@given(st.lists(TREES, max_size=4), st.data())
def test_what_is_written_is_read_wherever_lines_end(trees, data):
    text = "".join(map(str, trees))
    blanks = data.draw(st.lists(st.sampled_from(["\n", " ", "\t", " \r\n"]), min_size=1))
    for mark in "()":
        pieces = text.split(mark)
        text = pieces[0] + "".join(
            blanks[i % len(blanks)] * (mark == ")") + mark + piece for i, piece in enumerate(pieces[1:])
        )
    assert list(parse_trees(text.split("\n"))) == trees


def test_trees_come_as_they_are_read():
    def lines():
        for _ in range(3):
            yield str(DOG)
        raise AssertionError("read too far")

    assert list(islice(parse_trees(lines()), 3)) == [DOG] * 3


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["(NP (NN a))", "", "(NP", "(NN a)"], "x.trees: ends inside the tree that begins in line 3"),
        (["(NN a)", "(NN a))"], "x.trees, line 2: ')' outside of all brackets"),
        (["(NN a) b"], "x.trees, line 1: 'b' outside of all brackets"),
        (["(NP", "()", "(NN a))"], "x.trees, line 2: nothing in the bracket ()"),
        (["(NP)"], "x.trees, line 1: nothing in the bracket (NP)"),
        (["(())"], "x.trees, line 1: nothing in the bracket ()"),
        (["(NN a b)"], "x.trees, line 1: the words 'a' and 'b' under one tag"),
        (["(NP a (NN b))"], "x.trees, line 1: the word 'a' stands beside a bracket"),
        (["(NP (NN b)", "a)"], "x.trees, line 2: the word 'a' stands beside a bracket"),
        (["(S ( (NN b)))"], "x.trees, line 1: a bracket without a label inside another"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(lines, message):
    with pytest.raises(TreeError) as error:
        list(parse_trees(lines, "x.trees"))
    assert str(error.value) == message


@pytest.mark.parametrize("text", ["", "(NN a) (NN b)"])
def test_one_tree_is_wanted(text):
    with pytest.raises(TreeError, match="trees instead of one"):
        parse_tree(text)


def test_trees_before_a_fault_are_read():
    trees = parse_trees([str(DOG), "(NN a))"])
    assert next(trees) == DOG
    with pytest.raises(TreeError):
        list(trees)


def test_a_deep_tree_is_read():
    assert parse_tree("(X " * 10_000 + "(NN a)" + ")" * 10_000).words() == ["a"]
