"""Tensor2Tensor's subword files: segmentation worked by hand, and every text comes back as it was."""

import gzip
import sys
import unicodedata
from itertools import groupby

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from transformer_jax.data.vocabularies.base import VocabularyError
from transformer_jax.data.vocabularies.tensor2tensor_vocabulary import Tensor2TensorVocabulary, split_into_runs
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID, UNK_ID

ALPHABET = "\\_u;0123456789<>padEOScogs.' "  # the escapes', the special tokens' and some more
SUBTOKENS = ["dog_", "dog", "do", "s_", "._", "' _", "so", "\\u", *ALPHABET]
FILES = {
    "32k": "data/pretrained/t2t_vocab.translate_ende_wmt32k.32768.subwords.gz",
    "8k": "data/pretrained/t2t_transformer_test/vocab.translate_ende_wmt8k.8192.subwords.gz",
}


def as_file(subtokens):
    return "".join(f"'{subtoken}'\n" for subtoken in ["<pad>", "<EOS>", *subtokens]).encode()


VOCABULARY = Tensor2TensorVocabulary(as_file(SUBTOKENS))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("dog", ["dog_"]),
        ("dogs", ["dog", "s_"]),
        ("dogdo", ["dog", "do", "_"]),
        ("do gs", ["do", "_", "g", "s_"]),  # the space between two runs of letters is implied
        ("do  gs", ["do", "_", " ", " ", "_", "g", "s_"]),
        (" do ", [" ", "_", "do", "_", " ", "_"]),  # at the ends nothing implies it
        (" ", [" ", "_"]),
        ("dog's", ["dog_", "'", "_", "s_"]),
        ("dog' s", ["dog_", "' _", "s_"]),
        ("so.", ["so", "_", "._"]),
        ("so4", ["so", "4", "_"]),  # numbers count as letters
        ("_", ["\\u", "_"]),
        ("\\", ["\\", "\\", "_"]),
        ("e", ["\\", "1", "0", "1", ";", "_"]),
        ("doge", ["dog", "\\", "1", "0", "1", ";", "_"]),  # an escape stays in its run
        ("\n", ["\\", "1", "0", ";", "_"]),
        ("\\10;", ["\\", "\\", "_", "1", "0", "_", ";", "_"]),
        ("<pad>", ["<", "_", "p", "a", "d", "_", ">", "_"]),
    ],
)
def test_segmentation_by_hand(text, expected):
    ids = VOCABULARY.encode(text)
    assert VOCABULARY.tokens(ids) == expected
    assert VOCABULARY.decode(ids) == text == VOCABULARY.normalize(text)


def test_ids_are_the_files_moved_past_ours():
    """Its padding is 0 as ours; its end, 1, is our 2; then each moves by two."""
    assert VOCABULARY.tokens([PAD_ID, BOS_ID, EOS_ID, UNK_ID]) == ["<pad>", "<s>", "</s>", "<unk>"]
    assert VOCABULARY.tokens(range(4, VOCABULARY.size)) == SUBTOKENS
    assert VOCABULARY.encode("dog") == [2 + 2]
    assert VOCABULARY.size == len(SUBTOKENS) + 4 == as_file(SUBTOKENS).count(b"\n") + 2


TEXTS = st.text() | st.text(st.sampled_from(ALPHABET + "\\_u;xé\n\u00a0😀"))


@given(TEXTS)
@example("👩\u200d👩\u200d👧 \U0010ffff")
@example("\r\n\t\0\x85\u2028")
@example("e\u0301 שלום ²½Ⅷ")
@settings(deadline=None)
def test_any_text_comes_back(text):
    ids = VOCABULARY.encode(text)
    assert VOCABULARY.decode(ids) == text
    assert set(ids) <= set(range(4, VOCABULARY.size))


@given(TEXTS)
@settings(deadline=None)
def test_each_piece_is_the_longest_that_fits(text):
    pieces = VOCABULARY.tokens(VOCABULARY.encode(text))
    for i, piece in enumerate(pieces):
        rest = "".join(pieces[i:])
        rest = rest[: rest.index("_") + 1]  # no piece reaches over the end of a run
        assert piece == max((known for known in SUBTOKENS if rest.startswith(known)), key=len)


@given(st.lists(st.integers(0, VOCABULARY.size - 1), max_size=19))
@settings(deadline=None)
def test_any_ids_are_text_that_can_be_written(ids):
    text = VOCABULARY.decode(ids)
    assert text.encode("utf-8").decode("utf-8") == text
    assert VOCABULARY.decode(VOCABULARY.encode(text)) == text


@pytest.mark.parametrize(
    ("characters", "text"),
    [
        ("\\101", "\\101"),  # an escape without an end
        ("\\55296;_", "〓"),  # a surrogate
        ("\\1114112;_", "〓"),  # past the last code point
        ("\\" + "9" * 5000 + ";_", "〓"),
        ("__do__g__", "do g"),
        ("do._._do'_go", "do..do' go"),
    ],
)
def test_ids_that_no_text_has(characters, text):
    assert VOCABULARY.decode([4 + SUBTOKENS.index(character) for character in characters]) == text


def test_ids_that_stand_for_no_text_are_left_out_or_show():
    (dog,) = VOCABULARY.encode("dog")
    assert VOCABULARY.decode([BOS_ID, dog, UNK_ID, dog, EOS_ID, PAD_ID]) == "dog⁇dog"


def test_letters_and_numbers_are_unicodes():
    """All code points: those of the classes L and N make one run, and so do the others."""
    all_of = {True: "", False: ""}
    for is_one, characters in groupby(
        map(chr, range(sys.maxunicode + 1)), lambda c: unicodedata.category(c)[0] in "LN"
    ):
        all_of[is_one] += "".join(characters)
    assert split_into_runs(all_of[True] + all_of[False]) == [all_of[True], all_of[False]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1: must be a subtoken in single quotes"),
        (b"'<pad>'\n'<EOS>'\n'a\n", "line 3: must be a subtoken in single quotes"),
        (b"'<pad>'\n'<EOS>'\n'\n", "line 3: must be a subtoken in single quotes"),
        (b"'<pad>'\n'<EOS>'\n\n", "line 3: must be a subtoken in single quotes"),
        (b"'<EOS>'\n'<pad>'\n", "lines 1 and 2: must be '<pad>' and '<EOS>'"),
        (b"'<pad>'\n'<EOS>'\n'\xff'\n", r"not UTF-8 \(.*\)"),
        (as_file([*ALPHABET, "dox"]), "the character 'x' is no subtoken: must be, as every text must have ids"),
        (as_file(ALPHABET.replace("7", "")), "the character '7' is no subtoken.*"),
    ],
)
def test_what_is_no_subword_file_is_one_clear_error(data, message):
    with pytest.raises(VocabularyError, match=f"^{message}$"):
        Tensor2TensorVocabulary(data)


@pytest.mark.parametrize(("name", "size"), [("32k", 33_710), ("8k", 8_192)])
def test_real_news_comes_back(shared, name, size):
    """In the published 32k file: 1.4 tokens an English word, 1.6 a German one."""
    vocabulary = Tensor2TensorVocabulary(gzip.decompress((shared / FILES[name]).read_bytes()))
    assert vocabulary.size == size
    for language, most in (("en", 1.37), ("de", 1.56)):
        text = gzip.decompress((shared / f"data/newstest/newstest2014.en-de.{language}.gz").read_bytes()).decode()
        sentences = text.removesuffix("\n").split("\n")
        encoded = vocabulary.encode_all(sentences)
        assert [vocabulary.decode(ids) for ids in encoded] == sentences
        assert {PAD_ID, BOS_ID, EOS_ID, UNK_ID}.isdisjoint(id for ids in encoded for id in ids)
        if name == "32k":
            tokens_per_word = sum(map(len, encoded)) / len(text.split())
            assert most - 0.01 < tokens_per_word < most
