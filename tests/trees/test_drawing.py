"""Drawings of trees: by hand; and of any tree, that nothing is lost and nothing overlaps."""

import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest
from hypothesis import given
from rich.cells import cell_len
from trees.made_trees import TREES, UNHURRIED

from transformer_jax.trees.bracket_files import parse_tree
from transformer_jax.trees.drawing.layout import laid_out, shown
from transformer_jax.trees.drawing.svg import svg_drawing
from transformer_jax.trees.drawing.text import text_drawing
from transformer_jax.trees.tree import Tree

SENTENCE = parse_tree("(S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (. .))")
DRAWN = """\
           S
  ┌───────┬┴────────┐
  │      VP         │
  │    ┌──┴───┐     │
 NP    │     NP     │
  │    │    ┌─┴─┐   │
 NNP  VBZ  DT  NN   .
John  has   a  dog  .
"""
OUTLINE = """\
S
├─ NP ─ NNP John
├─ VP
│  ├─ VBZ has
│  └─ NP ─ DT a  NN dog
└─ . .
"""


def test_a_tree_by_hand():
    assert text_drawing(SENTENCE, 21) == DRAWN


def test_a_tree_that_is_too_wide_is_an_outline():
    assert text_drawing(SENTENCE, 20) == OUTLINE


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("(NN dog)", "NN\ndog\n"),
        ("(WHADVP (NN a))", "WHADVP\n   │\n  NN\n   a\n"),
        ("(X (A 東) (B b) (C c))", "    X\n ┌──┼──┐\n A  B  C\n東  b  c\n"),
    ],
)
def test_single_words_wide_labels_and_wide_letters(text, drawn):
    assert text_drawing(parse_tree(text), 80) == drawn


@UNHURRIED
@given(TREES)
def test_neighbours_do_not_touch(tree):
    root = laid_out(tree, cell_len, cell_len, gap=2)
    rows = {}
    for node in root.nodes():
        texts = [("label", node.label)] if node.word is None else [("tag", node.label), ("word", node.word)]
        for kind, text in texts:
            start = node.centre - cell_len(text) // 2
            end = start + cell_len(text)
            assert 0 <= start <= end <= root.width
            rows.setdefault((node.level, kind), []).append((start, end))
    assert all(end + 2 <= start for spans in rows.values() for (_, end), (start, _) in pairwise(spans))


@UNHURRIED
@given(TREES)
def test_all_words_stand_in_the_last_line_and_all_labels_above(tree):
    *above, words = text_drawing(tree, 10_000).splitlines()
    assert words.split() == " ".join(map(shown, tree.words())).split()
    labels = " ".join(shown(node.label) for kind, node in tree.walk() if kind != "closing")
    drawn, told = (sorted(re.sub("[│┼┴┬─┌┐]", " ", text).split()) for text in (" ".join(above), labels))
    assert drawn == told


@UNHURRIED
@given(TREES)
def test_an_outline_has_the_words_in_order(tree):
    lines = text_drawing(tree, 0).splitlines()
    text, place = " ".join(lines), 0
    for leaf in tree.leaves():
        place = text.index(f"{shown(leaf.label)} {shown(leaf.word)}".rstrip(), place) + 1
    opened = sum(kind == "opening" for kind, _ in tree.walk())
    assert opened <= len(lines) <= opened + len(tree.leaves())


@UNHURRIED
@given(TREES)
def test_a_picture_is_xml_with_every_label_and_word(tree):
    picture = ElementTree.fromstring(svg_drawing(tree))
    width, height = int(picture.get("width")), int(picture.get("height"))
    texts = [text for text in picture.iter() if text.tag.endswith("}text")]
    assert [text.text for text in texts if text.get("class") == "word"] == list(map(shown, tree.words()))
    assert [text.text for text in texts if text.get("class") == "tag"] == list(map(shown, tree.tags()))
    labels = [shown(node.label) for kind, node in tree.walk() if kind == "opening"]
    assert [text.text for text in texts if text.get("class") == "label"] == labels
    assert all(0 < int(text.get("x")) < width and 0 < int(text.get("y")) < height for text in texts)
    lines = [path.get("d") for path in picture.iter() if path.tag.endswith("}path")]
    assert sum(line.count("M") - 1 for line in lines) == len(labels) + len(tree.words()) - 1, "one for each child"


def test_nothing_in_a_word_reaches_the_terminal_or_the_page():
    tree = Tree("NN", word="a\x1b[31m\x00\u2028\u202e<&>\"'")
    assert text_drawing(tree, 80).splitlines()[1].strip() == "a\ufffd[31m\ufffd \ufffd<&>\"'"
    assert ElementTree.fromstring(svg_drawing(tree))[-1].text == "a\ufffd[31m\ufffd \ufffd<&>\"'"


def test_a_picture_needs_nothing_from_elsewhere():
    assert re.findall("https?://|url|href|import", svg_drawing(SENTENCE)) == ["http://"], "the name of SVG"


@pytest.mark.usefixtures("unchecked_types")
def test_a_tree_may_be_as_deep_as_it_likes():
    tall = Tree("NN", word="dog")
    for _ in range(3_000):
        tall = Tree("X", (tall,))
    assert svg_drawing(tall).count("<path") == text_drawing(tall, 80).count("X") == 3_000
