"""Trees for tests: all that Hypothesis can think of, and a grammar's; and what is a well-formed tree, by rewriting."""

import re

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from transformer_jax.trees.tree import Tree

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # cores may be busy
# Names that are read easily for something else: tags and labels in each other's place, slashes, escaped brackets.
AWKWARD = (
    *("NP", "NN", "XX", "/", "/NP", "//", "-LRB-", "-NONE-", "NP-SBJ-1=2", "PRP$", "``", ",", "S1", "=", "|"),
    "a\u00a0b",
)
CHARACTERS = st.characters(exclude_characters="() \t\r\n", exclude_categories=["Cs"])
NAMES = st.sampled_from(AWKWARD) | st.text(CHARACTERS, min_size=1, max_size=5)
LEAVES = st.builds(lambda tag, word: Tree(tag, word=word), NAMES, NAMES)
TREES = st.recursive(
    LEAVES,
    lambda parts: st.builds(lambda label, children: Tree(label, tuple(children)), NAMES, st.lists(parts, min_size=1)),
    max_leaves=12,
)
TEXT_OF_LEAF = re.compile(r"\([^() ]+ [^() ]+\)")
TEXT_OVER_LEAVES = re.compile(r"\([^() ]+( \*)+\)")


def is_well_formed(text: str) -> bool:
    """Whether `text` is one tree: each leaf becomes a star, and so does each bracket over stars, until one is left."""
    text, found = TEXT_OF_LEAF.sub("*", text), 1
    while found:
        text, found = TEXT_OVER_LEAVES.subn("*", text)
    return text == "*"


def random_tree(rng: np.random.Generator, num_words: int, depth: int = 0) -> Tree:
    """A tree of a few labels, with constituents over one child now and then."""
    label = str(rng.choice(["NP", "VP", "PP", "S", "SBAR"]))
    if num_words == 1 and (depth > 4 or rng.random() < 0.7):
        return Tree(str(rng.choice(["NN", "VB", "DT", "."])), word=str(rng.choice(["a", "dog", "barks", "."])))
    most = min(num_words, 4)
    parts = int(rng.integers(1 if depth < 4 else min(2, num_words), most + 1))
    cuts = np.sort(rng.choice(np.arange(1, num_words), parts - 1, replace=False)) if parts > 1 else np.zeros(0, int)
    sizes = np.diff([0, *cuts, num_words])
    return Tree(label, tuple(random_tree(rng, int(size), depth + 1) for size in sizes))
