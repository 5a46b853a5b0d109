"""Cleaning, by hand; what is cleaned needs no more."""

import pytest
from hypothesis import given
from trees.made_trees import TREES, UNHURRIED

from transformer_jax.trees.bracket_files import parse_tree
from transformer_jax.trees.cleaning import Cleaning, category, cleaned, under

NOTHING = Cleaning(traces=False, function_labels=False, unary_loops=False, outer_label=False)
ALL = Cleaning(traces=True, function_labels=True, unary_loops=True, outer_label=True)
# A subject that is a trace, a clause over it, a loop that shows once function labels and traces are gone.
ANNOTATED = (
    "( (S (NP-SBJ-1 (NP (NN ice)) (SBAR (-NONE- 0) (S-NOM (-NONE- *T*-1)))) (VP (VBZ melts) (NP=2 (-NONE- *)) (PRN "
    "(-LRB- -LRB-) (NP-TMP (NP (NN now))) (-RRB- -RRB-)))))"
)


@pytest.mark.parametrize(
    ("cleaning", "expected", "changes"),
    [
        (NOTHING, ANNOTATED, {}),
        (
            Cleaning(traces=True, function_labels=False, unary_loops=False, outer_label=False),
            "( (S (NP-SBJ-1 (NP (NN ice))) (VP (VBZ melts) (PRN (-LRB- -LRB-) (NP-TMP (NP (NN now))) (-RRB- -RRB-)))))",
            {"traces": 3, "emptied constituents": 3},
        ),
        (
            Cleaning(traces=False, function_labels=True, unary_loops=False, outer_label=False),
            "( (S (NP (NP (NN ice)) (SBAR (-NONE- 0) (S (-NONE- *T*-1)))) (VP (VBZ melts) (NP (-NONE- *)) (PRN "
            "(-LRB- -LRB-) (NP (NP (NN now))) (-RRB- -RRB-)))))",
            {"function labels": 4},
        ),
        (
            Cleaning(traces=False, function_labels=False, unary_loops=False, outer_label=True),
            ANNOTATED.removeprefix("( ").removesuffix(")"),
            {"outer labels": 1},
        ),
        (
            ALL,
            "(S (NP (NN ice)) (VP (VBZ melts) (PRN (-LRB- -LRB-) (NP (NN now)) (-RRB- -RRB-))))",
            {"traces": 3, "emptied constituents": 3, "function labels": 2, "unary loops": 2, "outer labels": 1},
        ),
    ],
)
def test_each_option_by_hand(cleaning, expected, changes):
    tree, counted = cleaned(parse_tree(ANNOTATED), cleaning)
    assert (str(tree), dict(counted)) == (expected, changes)


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("NP", "NP"), ("NP-SBJ=1", "NP"), ("S-NOM-SBJ", "S"), ("NP=2-1", "NP"), ("-LRB-", "-LRB-"), ("=", "="),
        ("ADVP|PRT", "ADVP|PRT"), ("S1", "S1"), ("", ""), ("-NONE-", "-NONE-"), ("PP-LOC-TPC-1", "PP"), ("CIT=3", "CIT")
    ],
)  # fmt: skip
def test_categories(label, expected):
    assert category(label) == expected


def test_chains_of_loops_but_no_others():
    clean = Cleaning(unary_loops=True)
    chain = parse_tree("(S (NP (NP-1 (NP (NP (NN a)) (NN b)))))")
    assert cleaned(chain, clean) == (
        parse_tree("(S (NP (NP (NN a)) (NN b)))"),
        {"unary loops": 2, "function labels": 1},
    )
    for kept in ("(NP (VP (NP (NN a))))", "(NN (NN a))", "(NP (NP (NN a)) (NP (NN b)))"):
        assert cleaned(parse_tree(kept), clean) == (parse_tree(kept), {})


@pytest.mark.parametrize("label", ["", "TOP", "S1", "ROOT"])
def test_outer_labels(label):
    one, two = parse_tree(f"({label} (S (NN a)))"), parse_tree(f"({label} (S (NN a)) (S (NN b)))")
    assert cleaned(one, Cleaning()) == (parse_tree("(S (NN a))"), {"outer labels": 1})
    assert cleaned(two, Cleaning()) == (two, {}), "there is no tree that could stand alone"
    assert under(label, parse_tree("(S (NN a))")) == one
    assert str(cleaned(parse_tree(f"({label or 'TOP'} (UH hm))"), Cleaning()).tree) == "(UH hm)"


def test_nothing_but_traces_is_no_tree():
    tree, changes = cleaned(parse_tree("( (S (NP (-NONE- *)) (VP (-NONE- *?*))))"), Cleaning())
    assert (tree, dict(changes)) == (None, {"traces": 2, "emptied constituents": 4})


@UNHURRIED
@given(TREES)
def test_what_is_clean_stays_and_only_traces_cost_words(tree):
    once, _ = cleaned(tree, ALL)
    kept = [leaf for leaf in tree.leaves() if leaf.label != "-NONE-"]
    assert (once.leaves() if once else []) == kept
    if once and once.label not in ("S1", "TOP", "ROOT"):
        assert cleaned(once, ALL) == (once, {})
