"""Right-branching trees, the tops of trees, and which tags words have."""

import numpy as np
import pytest

from transformer_jax.analysis.parsing_baselines.lexicon import read_lexicon
from transformer_jax.analysis.parsing_baselines.right_branching import read_right_branching
from transformer_jax.analysis.parsing_baselines.tops import divide_top, under_top
from transformer_jax.trees.bracket_files import parse_tree
from transformer_jax.trees.tree import Tree

TRAINING = [
    parse_tree(text)
    for text in (
        "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ barks) (NP (PRP it))) (. .)))",
        "(TOP (S (NP (NN rain)) (VP (VBZ falls) (PP (IN on) (NP (DT the) (NN sea)))) (. .)))",
        "(TOP (NP (NP (NN grass)) (: ;) (NP (DT a) (JJ wet) (NN barks))))",
        "(TOP (S (NP (PRP it)) (VP (VBZ barks)) (. .)))",
    )
]


def test_right_branching_by_hand():
    yardstick = read_right_branching(TRAINING)
    assert str(yardstick.parse(["the", "dog", "barks", "it", "."])) == (
        "(TOP (S (DT the) (NP (NN dog) (NP (VBZ barks) (NP (PRP it) (. .))))))"
    )
    assert str(yardstick.parse(["the", "dog"])) == "(TOP (S (DT the) (NN dog)))"
    assert str(yardstick.parse(["rain"])) == "(TOP (S (NN rain)))"


def test_right_branching_takes_the_label_that_is_right_most_often_punctuation_aside():
    trees = [parse_tree("(S (A a) (VP (B b) (VP (C c) (NP (D d)))) (. .))"), parse_tree("(S (NP (A a) (B b)) (C c))")]
    assert read_right_branching(trees).label == "VP"
    assert read_right_branching([parse_tree("(S (A a) (B b))")]).label == "S"


def test_right_branching_of_a_right_branching_tree_is_it():
    tree = parse_tree("(TOP (S (A a) (VP (B b) (VP (C c) (D d)))))")
    assert read_right_branching([tree]).parse(tree.words()) == tree


def test_tops_are_taken_off_and_put_back():
    for text, labels in (("(S1 (S (S (A a) (B b))))", ("S1", "S")), ("(S1 (NP (A a)))", ("S1", "NP")), ("(A a)", ())):
        top, below = divide_top(parse_tree(text))
        assert top == labels
        assert str(under_top(top, below)) == text


def test_probabilities_of_tags_by_hand():
    """Classes of one small letter: any word, its shape, itself; b alone stands for words never seen."""
    lexicon = read_lexicon([parse_tree("(S (X a) (X a) (Y b))")])
    assert lexicon.tags == ("X", "Y")
    for word, y in (("b", 11 / 12), ("c", 5 / 6), ("a", 5 / 18), ("7", 2 / 3)):
        np.testing.assert_allclose(lexicon.probabilities(word), [1 - y, y])
    np.testing.assert_allclose(lexicon.log_scores("c"), np.log([(1 / 6) / (2 / 3), (5 / 6) / (1 / 3)]))


def test_tags_of_known_and_unknown_words():
    lexicon = read_lexicon(TRAINING)
    assert [lexicon.best_tag(word) for word in ("the", "rain", "barks", "it")] == ["DT", "NN", "VBZ", "PRP"]
    for word in ("the", "barks", "unheard-of", "IL-2", "Ünder", "", "."):
        given = lexicon.probabilities(word)
        assert given.sum() == pytest.approx(1.0)
        assert (given > 0).all()


def test_a_tag_that_a_word_hardly_ever_has_is_not_tried():
    lexicon = read_lexicon([Tree("X", word="a")] * 30_000 + [Tree("Y", word="b")])
    assert np.isfinite(lexicon.log_scores("a")).tolist() == [True, False]


def test_unknown_words_go_by_their_endings_and_shapes():
    leaves = [
        ("RB", "slowly"),
        ("RB", "quickly"),
        ("NN", "stone"),
        ("NN", "river"),
        ("CD", "12"),
        ("CD", "45"),
        ("NN", "IL-2"),
    ]
    lexicon = read_lexicon([Tree(tag, word=word) for tag, word in leaves])
    assert [lexicon.best_tag(word) for word in ("softly", "77", "NF-1", "liver")] == ["RB", "CD", "NN", "NN"]
