"""The identity on real treebanks: text to tree to tokens and back, as they are and cleaned."""

import re

import pytest

from transformer_jax.data.text_files import read_lines
from transformer_jax.trees.bracket_files import parse_trees
from transformer_jax.trees.cleaning import Cleaning, cleaned
from transformer_jax.trees.linearisation import delinearised, linearised
from transformer_jax.trees.symbols import PENN_TAGS

pytestmark = pytest.mark.usefixtures("unchecked_types")  # millions of calls
TREES = {
    "genia/train": 14_326, "genia/dev": 1_361, "genia/test": 1_360,
    "craft/train": 18_951, "craft/dev": 2_780, "craft/test": 9_099,
    "gum/train": 10_224, "gum/dev": 1_575, "gum/test": 1_464, "gum/test2": 1_334,
    "nltk_wsj_sample/combined": 3_914,
}  # fmt: skip
EVERY = 211  # tree of the fast suite
ONLY_OUTER = Cleaning(traces=False, function_labels=False, unary_loops=False)
ALL = Cleaning(unary_loops=True)


def assert_identity(line: str) -> None:
    (tree,) = parse_trees([line])
    assert str(tree) == line
    for clean in {cleaned(tree, cleaning).tree for cleaning in (ONLY_OUTER, ALL)}:
        assert delinearised(linearised(clean), clean.words()) == clean
    for token in linearised(cleaned(tree, ALL).tree):
        assert re.fullmatch(r"/?[A-Z]+[0-9]*(\|[A-Z]+)?", token) or token in PENN_TAGS, "as in the authors' code"


@pytest.mark.parametrize("name", TREES)
def test_some_trees(shared, name):
    lines = list(read_lines(shared / f"data/treebank/{name}.trees.gz"))
    assert len(lines) == TREES[name]
    for line in lines[::EVERY]:
        assert_identity(line)


@pytest.mark.slow
@pytest.mark.parametrize("name", TREES)
def test_all_trees(shared, name):
    for line in read_lines(shared / f"data/treebank/{name}.trees.gz"):
        assert_identity(line)
