"""The symbols of trees as pieces: which there are, what they need, and which vocabularies tell them apart."""

import numpy as np
import pytest

from transformer_jax.data.vocabulary import learn_vocabulary
from transformer_jax.decoding.tree_symbols import CLOSING, LEAF, NO_KIND, OPENING, TreeSymbolError, tree_symbols

SPELLED = {"S": [4], "/S": [5, 6], "SBAR": [4, 7], "/SBAR": [5, 6, 7], "NN": [8], "(X)": [9, 7, 7]}


def encode(text: str, spelled=SPELLED) -> list[int]:
    return [id for token in text.split(" ") for id in spelled[token]]


def test_tables_by_hand():
    """Each label opens and closes, though the targets close one only."""
    symbols = tree_symbols(["S", "SBAR", "NN", "(X)", "/SBAR", "NN"], encode, vocab_size=12)
    rows = set(zip(symbols.kinds, symbols.labels, symbols.lengths, symbols.closing_lengths, strict=True))
    assert rows == {
        (OPENING, 0, 1, 2), (CLOSING, 0, 2, 2), (OPENING, 1, 2, 3), (CLOSING, 1, 3, 3),
        (LEAF, -1, 1, 0), (LEAF, -1, 3, 0), (NO_KIND, -1, 0, 0),
    }  # fmt: skip
    assert (symbols.shortest_leaves.tolist(), symbols.marks_begin) == ([1], True)
    assert symbols.pieces.tolist() == [6, 6, 6, 6, 0, 1, 2, 3, 4, 5, 6, 6]
    assert symbols.marked.tolist() == [True, True, False, False, True, True, False]


def test_words_with_the_same_leaves_are_of_one_class():
    """Of two leaves of one and of three pieces, after one of no word that is known."""
    lexicon = {"dog": ["NN"], "x": ["X", "NN"], "cat": ["NN"], "y": ["NN", "X"], "z": ["X"]}
    symbols = tree_symbols(["S", "NN", "(X)"], encode, vocab_size=12, lexicon=lexicon)
    any_word, dog, x, cat, y, z = symbols.classes_of(["unread", *lexicon])
    assert (any_word, dog, x, len({dog, x, z, any_word})) == (0, cat, y, 4)
    leaves = {word: symbols.allowed[word] for word in (any_word, dog, x, z)}
    assert [leaves[word].sum() for word in leaves] == [2, 1, 2, 1]
    assert (symbols.kinds[leaves[dog] | leaves[z]] == LEAF).all()
    assert symbols.shortest_leaves[[any_word, dog, x, z]].tolist() == [1, 1, 1, 3]


def test_a_word_that_could_have_no_leaf_is_refused():
    with pytest.raises(TreeSymbolError, match="none of the leaves that a word may have"):
        tree_symbols(["S", "NN"], encode, vocab_size=12, lexicon={"dog": ["X"]})


def test_pieces_may_tell_the_end():
    turned = {token: ids[::-1] for token, ids in SPELLED.items()}
    symbols = tree_symbols(SPELLED, lambda text: encode(text, turned), vocab_size=12)
    assert not symbols.marks_begin
    assert symbols.marked.tolist() == [True, True, False, False, True, True, False]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"S": [3]}, "cannot write the symbol 'S'"),
        ({"NN": []}, "cannot write the symbol 'NN'"),
        ({"NN": [4]}, "writes the symbols 'NN' and 'S' alike"),
        ({"NN": [7]}, "do not tell where a symbol begins"),
    ],
)
def test_vocabularies_that_do_not_tell(changed, message):
    with pytest.raises(TreeSymbolError, match=message):
        tree_symbols(SPELLED, lambda text: encode(text, SPELLED | changed), vocab_size=12)


def test_pieces_that_join_symbols_do_not_tell():
    with pytest.raises(TreeSymbolError, match="do not tell where"):
        tree_symbols(SPELLED, lambda text: encode(text)[: None if " " not in text else -1], vocab_size=12)


@pytest.mark.parametrize("tokens", [["S", "/S"], ["NN"], [], ["S", "NN", "/"]])
def test_targets_that_are_no_trees(tokens):
    with pytest.raises(TreeSymbolError, match="the training targets"):
        tree_symbols(tokens, encode, vocab_size=12)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_a_learned_vocabulary_tells(kind):
    targets = ["S NP DT NN /NP VP VBZ SBAR IN (NP) -LRB- /SBAR /VP . /S", "SBAR IN S NP-1 NNS /NP-1 /S /SBAR , , ``"]
    vocabulary = learn_vocabulary([*targets, "a dog that barks (so far) bites - not"], 49, kind)
    symbols = tree_symbols(" ".join(targets).split(" "), vocabulary.encode, vocabulary.size)
    assert symbols.marks_begin
    assert symbols.lengths.max() > 2
    assert np.bincount(symbols.kinds).tolist() == [5, 10, 5, 1]
