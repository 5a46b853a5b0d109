"""The built-in treebank: the same everywhere, split cleanly, and hard enough to be worth parsing."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from transformer_jax.analysis.parsing_baselines.pcfg import parse_all, read_pcfg
from transformer_jax.analysis.parsing_baselines.right_branching import read_right_branching
from transformer_jax.data import builtin_trees as grammar
from transformer_jax.data.builtin_trees import builtin_trees
from transformer_jax.metrics.bracketing.score import bracketing_score
from transformer_jax.trees.bracket_files import parse_trees
from transformer_jax.trees.cleaning import Cleaning, cleaned
from transformer_jax.trees.linearisation import linearised
from transformer_jax.trees.symbols import PENN_TAGS

PROJECT_ROOT = Path(__file__).resolve().parents[2]
SIZES = {"train": 8_000, "dev": 500, "test": 500}
SHA256 = "aba34d4e0bc1a606105c4bf917b473bb0332f168e5ca065eb05da2d35faaac43"

pytestmark = pytest.mark.usefixtures("unchecked_types")  # a hundred thousand nodes are made


def text_of(split):
    return "".join(f"{tree}\n" for tree in builtin_trees(split))


def test_trees_are_frozen():
    assert hashlib.sha256("".join(map(text_of, SIZES)).encode()).hexdigest() == SHA256


def test_trees_do_not_depend_on_hash_seed_or_locale():
    program = "from transformer_jax.data.builtin_trees import builtin_trees; print(*builtin_trees('test'), sep='\\n')"
    environment = {**os.environ, "PYTHONHASHSEED": "17", "LC_ALL": "C"}
    output = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT_ROOT, env=environment, capture_output=True, check=True, text=True
    ).stdout
    assert output == text_of("test")


def test_no_sentence_occurs_twice_within_or_between_splits():
    sentences = [" ".join(tree.words()) for split in SIZES for tree in builtin_trees(split)]
    assert len(set(sentences)) == len(sentences) == sum(SIZES.values())
    assert max(sentence.count(" ") for sentence in sentences) < 24
    assert 10 < sum(sentence.count(" ") + 1 for sentence in sentences) / len(sentences) < 13


def test_its_trees_are_written_as_the_authors_code_writes_them():
    """No name needs a bracket in the target, nothing is to be cleaned, and a bracket file gives them back."""
    trees = builtin_trees("dev")
    assert not [token for tree in trees for token in linearised(tree) if token.startswith("(")]
    assert {tag for tree in trees for tag in tree.tags()} <= PENN_TAGS
    assert [cleaned(tree, Cleaning(unary_loops=True)).tree for tree in trees] == trees
    assert list(parse_trees(text_of("dev").splitlines())) == trees


def test_every_way_of_the_grammar_is_taken():
    """A misspelt symbol would be an error, or a rule that is never used."""
    defined = {line.split()[0] for line in grammar._RULES.strip().split("\n")} | grammar._WORDS.keys()
    used = {part for line in grammar._RULES.split("\n") for part in line.split()[1:] if not part.isdecimal()}
    assert used | {"S"} == defined
    assert {word for text in grammar._WORDS.values() for word in text.split()} == {
        word for tree in builtin_trees("train") for word in tree.words()
    }


def test_words_have_several_tags():
    tags = Counter((leaf.word, leaf.label) for tree in builtin_trees("train") for leaf in tree.leaves())
    assert {tag for word, tag in tags if word == "walks"} == {"NNS", "VBZ"}
    assert {tag for word, tag in tags if word == "her"} == {"PRP", "PRP$"}


def test_neither_yardstick_parses_it_all():
    train, test = builtin_trees("train")[:2_000], builtin_trees("test")[:150]
    right_branching = read_right_branching(train)
    sentences = [tree.words() for tree in test]
    pcfg, _ = parse_all(read_pcfg(train), right_branching.parse, sentences)

    def f1(parsed):
        return bracketing_score([[tree] for tree in test], [[tree] for tree in parsed]).all.counts.f1

    assert 15 < f1([right_branching.parse(words) for words in sentences]) < 35
    assert 80 < f1(pcfg) < 94


def test_a_caller_may_change_its_list():
    builtin_trees("dev").clear()
    assert len(builtin_trees("dev")) == SIZES["dev"]


def test_unknown_split_is_refused():
    with pytest.raises(ValueError, match=r"'valid'.*train, dev, test"):
        builtin_trees("valid")
