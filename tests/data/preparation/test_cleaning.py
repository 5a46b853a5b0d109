"""Each rule by hand; and, whatever the rules, every pair is kept or counted once."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_jax.config import Cleaning
from transformer_jax.data.preparation.cleaning import RULES, broken_rule, digest

NONE = Cleaning(empty=False, identical=False, max_words=None, max_length_ratio=None, duplicate=False)
ALL = Cleaning(empty=True, identical=True, max_words=4, max_length_ratio=2.0, duplicate=True)


@pytest.mark.parametrize(
    ("source", "target", "rule"),
    [
        ("a b", "c d", None),
        ("", "c", "empty"),
        ("a", " \t\u00a0", "empty"),
        ("same", "same", "identical"),
        ("same", "same ", None),
        ("1 2 3 4", "4 3 2 1", None),
        ("1 2 3 4 5", "5 4 3 2 1", "max_words"),
        ("1 2 3 4", "2 1", None),
        ("1", "3 2 1", "max_length_ratio"),
        ("3 2 1", "1", "max_length_ratio"),
    ],
)
def test_each_rule_by_hand(source, target, rule):
    assert broken_rule(source, target, ALL) == rule
    assert broken_rule(source, target, NONE) is None


@pytest.mark.parametrize(("rule", "off"), [(name, getattr(NONE, name)) for name in RULES if name != "duplicate"])
def test_a_rule_that_is_off_removes_nothing(rule, off):
    for pair in [("", "c"), ("same", "same"), ("1 2 3 4 5", "5 4 3 2 1"), ("1", "3 2 1")]:
        assert broken_rule(*pair, replace(ALL, **{rule: off})) != rule


def test_the_first_rule_that_is_broken_counts():
    assert broken_rule("", "", ALL) == "empty"
    assert broken_rule("1 2 3 4 5", "1 2 3 4 5", ALL) == "identical"
    assert broken_rule("1 2 3 4 5", "1", ALL) == "max_words"


def test_an_empty_side_has_any_ratio():
    """Where `empty` is off, the ratio of something to nothing is still above every bound."""
    assert broken_rule("a", "", replace(ALL, empty=False)) == "max_length_ratio"


@given(st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3)), max_size=9))
def test_digests_are_of_the_pair(pairs):
    assert len({digest(*pair) for pair in pairs}) == len(set(pairs))


def test_a_digest_knows_where_the_source_ends():
    assert digest("ab", "c") != digest("a", "bc")
