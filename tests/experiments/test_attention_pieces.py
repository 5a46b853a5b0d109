"""Tokens as people read them, with the characters that the vocabulary lacks; and which token a word means."""

import re

import pytest

from experiments.attention.pieces import Piece, pieces
from experiments.attention.run import AttentionError
from experiments.attention.view import head_colours, rows_of
from transformer_jax.data.vocabularies.sentencepiece_vocabulary import learn_vocabulary
from transformer_jax.data.vocabularies.subword_nmt_vocabulary import count_vocabulary
from transformer_jax.special_ids import BOS_ID, EOS_ID, UNK_ID

VOCABULARY = learn_vocabulary(["ab abab ba", "ab ba."], 11)
WORDS = count_vocabulary(["#version: 0.2", "a b"], ["ab aba"])


def labels(text, vocabulary=VOCABULARY, *, given=True):
    return [piece.label for piece in pieces(vocabulary, vocabulary.encode(text), text if given else None)]


def test_the_start_of_a_word_is_told_from_what_goes_on():
    ids = VOCABULARY.encode("abab ab.")
    assert VOCABULARY.tokens(ids) == ["▁ab", "ab", "▁ab", "."]
    assert labels("abab ab.") == labels("abab ab.", given=False) == ["ab", "·ab", "ab", "·."]


def test_special_tokens():
    assert pieces(VOCABULARY, [BOS_ID, EOS_ID]) == [Piece("<s>", "special"), Piece("</s>", "special")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ab 😀 ab", ["ab", "␣", "😀", "ab"]),
        ("שלום עולם", ["␣", "שלום", "␣", "עולם"]),
        ("ab<x>ab", ["ab", "·<x>", "·ab"]),
        ("  <!--   ab", ["␣", "<!--", "ab"]),
        ("ab ⅷ", ["ab", "␣", "viii"]),  # as the vocabulary normalises it
        ("xyz", ["␣", "xyz"]),
    ],
)
def test_unknown_characters_are_shown(text, expected):
    assert UNK_ID in VOCABULARY.encode(text)
    assert labels(text) == expected
    assert [label for label in labels(text, given=False) if label not in ("␣", *expected)] != []


def test_where_unknown_pieces_cannot_be_told_apart_none_is_shown():
    """Two of one word: "x@@" and "y" might be "x" and "y" or all of it."""
    text = "xy ab"
    assert WORDS.encode(text)[:2] == [UNK_ID, UNK_ID]
    assert labels(text, WORDS) == labels(text, WORDS, given=False)


ROWS = [Piece("<s>", "special"), Piece("neun", "start"), Piece("undneunzig", "part"), Piece("und", "start"),
        Piece("neun", "start"), Piece("und", "start")]  # fmt: skip


@pytest.mark.parametrize(
    ("word", "expected"),
    [("neunundneunzig", [1, 2]), ("neun", [4]), ("und", [3]), ("undneunzig", [2]), ("<s>", [0])],
)
def test_the_tokens_of_a_word(word, expected):
    assert rows_of(word, ROWS) == expected


def test_a_word_that_is_not_there():
    message = "--word=Neun: must be one of <s> neun ·undneunzig und neun und"
    with pytest.raises(AttentionError, match=re.escape(message)):
        rows_of("Neun", ROWS)


@pytest.mark.parametrize("count", [1, 8, 10, 16, 32])
def test_every_head_has_a_colour_of_its_own(count):
    assert len(set(head_colours(count))) == count
