"""Repair: by hand, of whatever there may be, and of nothing that is right."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees.made_trees import NAMES, TREES, UNHURRIED, is_well_formed

from transformer_jax.trees.bracket_files import parse_tree
from transformer_jax.trees.linearisation import linearised
from transformer_jax.trees.repair import repaired

WORDS = ["John", "has", "a", "dog", "."]


@pytest.mark.parametrize(
    ("tokens", "expected", "repairs"),
    [
        ("", "(S (XX John) (XX has) (XX a) (XX dog) (XX .))", {"leaves added": 5, "roots added": 1}),
        ("S NP NNP /NP VP VBZ NP DT NN", "(S (NP (NNP John)) (VP (VBZ has) (NP (DT a) (NN dog))) (XX .))",
         {"closings added": 3, "leaves added": 1}),
        ("S NP NNP VP VBZ NP DT NN /VP . /S", "(S (NP (NNP John) (VP (VBZ has) (NP (DT a) (NN dog))) (. .)))",
         {"closings added": 2}),
        ("NP NNP /NP VP VBZ DT NN /VP .", "(S (NP (NNP John)) (VP (VBZ has) (DT a) (NN dog)) (. .))",
         {"roots added": 1}),
        ("S NNP /S VBZ DT NN /S .", "(S (S (NNP John)) (VBZ has) (DT a) (NN dog) (. .))",
         {"closings dropped": 1, "roots added": 1}),
        ("X NNP VBZ DT NN . , , /X /X", "(X (NNP John) (VBZ has) (DT a) (NN dog) (. .))",
         {"leaves dropped": 2, "closings dropped": 1}),
        ("X Y /Y Y Z /Y NNP VBZ DT NN . /X Y", "(X (NNP John) (VBZ has) (DT a) (NN dog) (. .))",
         {"constituents dropped": 4, "closings added": 2}),
        ("() X / NNP VBZ ( DT NN . /X", "(X (NNP John) (VBZ has) (DT a) (NN dog) (. .))", {"tokens dropped": 3}),
    ],
)  # fmt: skip
def test_by_hand(tokens, expected, repairs):
    tree, counted = repaired(tokens.split(" ") if tokens else [], WORDS)
    assert (str(tree), dict(counted)) == (expected, repairs)


def test_leaves_that_say_other_words():
    tree, repairs = repaired(["NP", "(the)", "dog", "/NP"], ["a", "dog"], "words", {"a": "DT", "dog": "NN"}.__getitem__)
    assert (str(tree), dict(repairs)) == ("(NP (DT a) (NN dog))", {"leaves replaced": 1})
    tree, repairs = repaired(["NP", "(NN)", "XX", "/NP"], ["a", "dog"], "blanks")
    assert (str(tree), dict(repairs)) == ("(NP (XX a) (XX dog))", {"leaves replaced": 1})


def test_words_left_over_get_their_tags_and_the_root_its_label():
    tree, _ = repaired(["NN"], ["a", "."], tag_of={"a": "NN", ".": "."}.__getitem__, root="FRAG")
    assert str(tree) == "(FRAG (NN a) (. .))"


def test_no_words_are_no_tree():
    with pytest.raises(ValueError, match="needs a word"):
        repaired(["S"], [])


@UNHURRIED
@given(TREES, st.sampled_from(["tags", "words"]))
def test_what_is_right_is_left_alone(tree, leaves):
    _, repairs = repaired(linearised(tree, leaves), tree.words(), leaves)
    assert not repairs


@UNHURRIED
@given(st.lists(NAMES | st.text(max_size=3), max_size=30), st.lists(NAMES, min_size=1, max_size=6), st.data())
def test_any_tokens_become_a_tree_over_the_words(tokens, words, data):
    leaves = data.draw(st.sampled_from(["tags", "blanks", "words"]))
    tree, _ = repaired(tokens, words, leaves)
    assert tree.words() == words
    assert parse_tree(str(tree)) == tree


SYMBOLS = "S NP VP /S /NP /VP NN VB . (NN /NN (NP (ART) / ( ⁇ -LRB- //"
RIGHT = "S NP DT NN /NP VP VB NP DT NN /NP /VP . /S"


def random_sequences(count: int):
    """Symbols at random, trees with tokens changed, dropped or added, and trees cut off, then the same token again."""
    rng = np.random.default_rng(8)
    alphabet, right = SYMBOLS.split(" "), RIGHT.split(" ")
    for number in range(count):
        if number % 3 == 0:
            tokens = rng.choice(alphabet, rng.integers(0, 40)).tolist()
        elif number % 3 == 1:
            tokens = list(right)
            for _ in range(rng.integers(1, 6)):
                place = rng.integers(len(tokens))
                tokens[place : place + rng.integers(0, 3)] = rng.choice(alphabet, rng.integers(0, 3)).tolist()
                tokens = tokens or ["S"]
        else:
            tokens = right[: rng.integers(len(right))] + [str(rng.choice(alphabet))] * int(rng.integers(0, 60))
        yield tokens, [f"w{i}" for i in range(rng.integers(1, 9))]


@pytest.mark.usefixtures("unchecked_types")  # a million calls
def test_ten_thousand_random_and_adversarial_sequences():
    total: Counter[str] = Counter()
    for tokens, words in random_sequences(10_000):
        tree, repairs = repaired(tokens, words)
        text = str(tree)
        assert is_well_formed(text)
        assert re.findall(r" ([^ ()]+)\)", text) == words
        total += repairs
        if not repairs:
            assert delabelled(linearised(tree)) == delabelled(tokens)
    assert len(total) == 7, "each repair that there is for tags"


def delabelled(tokens: list[str]) -> list[str]:
    """Without the brackets that tell labels from tags: they may stand where they need not."""
    return [token.strip("()") for token in tokens]


@pytest.mark.usefixtures("unchecked_types")
def test_repair_is_linear_and_knows_no_depth():
    many = 20_000
    tree, repairs = repaired(["X", "Y"] * many + ["NN"] + ["/Z", "/X"] * many, ["a"])
    assert dict(repairs) == {"closings dropped": many, "closings added": many}
    assert str(tree).count("(") == 2 * many + 1
