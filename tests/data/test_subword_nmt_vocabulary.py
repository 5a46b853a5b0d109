"""subword-nmt's merges, worked by hand, and the vocabulary that Multi30k's published protocol gives."""

import gzip
import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_jax.data.vocabularies import subword_nmt_vocabulary
from transformer_jax.data.vocabularies.base import VocabularyError
from transformer_jax.data.vocabularies.subword_nmt_vocabulary import (
    SubwordNmtVocabulary,
    count_vocabulary,
    read_codes,
)
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID, UNK_ID

CODES = b"#version: 0.2\na b\nb c</w>\nab c</w>\na a\n"
# abc: (a, b) comes before (b, c) in the list, then (ab, c). bc: one merge. ab: "b</w>" ends the word and is not "b".
SENTENCES = ["abc bc", "ab abc", "abb  abc "]


@pytest.fixture(scope="module")
def vocabulary():
    return count_vocabulary(read_codes(CODES), SENTENCES)


def test_pieces_by_hand_the_most_frequent_first(vocabulary):
    """abc stands there thrice, b twice, in "a@@ b" and "ab@@ b"."""
    assert vocabulary.tokens(range(vocabulary.size)) == [
        "<pad>",
        "<s>",
        "</s>",
        "<unk>",
        "abc",
        "b",
        "a@@",
        "ab@@",
        "bc",
    ]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("abc", ["abc"]),
        ("bc ab", ["bc", "a@@", "b"]),
        ("abb", ["ab@@", "b"]),
        ("ababc", ["ab@@", "abc"]),
        ("b", ["b"]),
        ("", []),
        (" ", []),
        ("\r\n abc\r\n", ["abc"]),
    ],
)
def test_splitting_by_hand(vocabulary, text, tokens):
    assert vocabulary.tokens(vocabulary.encode(text)) == tokens
    assert vocabulary.decode(vocabulary.encode(text)) == text.strip() == vocabulary.normalize(text)


def test_spaces_divide_words_and_nothing_else_does(vocabulary):
    assert vocabulary.normalize("  abc   ab ") == "abc ab"
    assert vocabulary.normalize("abc\tab\u00a0abc\u2028b") == "abc\tab\u00a0abc\u2028b"
    found = count_vocabulary(read_codes(CODES), ["b\tb b\u00a0b"])
    assert sorted(found.tokens(range(4, found.size))) == ["\t@@", "b", "b@@", "\u00a0@@"]


def test_the_mark_of_continued_pieces_is_text_unless_a_piece_is_merged_from_it(vocabulary):
    assert vocabulary.normalize("b@@ @@ b@@") == "b@@ @@ b@@"
    found = count_vocabulary(read_codes(CODES + b"@ @</w>\n"), ["b@@ b @@"])
    assert found.decode(found.encode("b@@ b @@")) == found.normalize("b@@ b @@") == "bb"


def test_what_the_training_text_does_not_hold_is_unknown(vocabulary):
    ids = vocabulary.encode("abc x aa b")
    assert vocabulary.tokens(ids) == ["abc", "<unk>", "a@@", "<unk>", "b"]
    assert vocabulary.decode(ids) == "abc ⁇ a⁇ b"
    assert vocabulary.normalize("abc x aa b") == "abc x aa b"


def test_special_tokens_written_in_text_are_text():
    text = "<pad> <s> </s> <unk>"
    codes = b"#version: 0.2\n< pad></w>\np a\nd ></w>\npa d></w>\n< pad></w>\n"
    found = count_vocabulary(read_codes(codes), [text])
    assert "<pad>" in found.tokens(found.encode(text))
    assert {PAD_ID, BOS_ID, EOS_ID, UNK_ID}.isdisjoint(found.encode(text))
    assert found.decode(found.encode(text)) == text
    assert count_vocabulary(read_codes(codes), ["a"]).encode("<pad>") == [UNK_ID]


@given(st.lists(st.text(st.sampled_from("abcd ")), min_size=1))
@settings(deadline=None)
def test_the_text_that_pieces_were_counted_in_comes_back(sentences):
    found = count_vocabulary(read_codes(CODES), sentences)
    for sentence in sentences:
        ids = found.encode(sentence)
        assert UNK_ID not in ids
        assert found.decode(ids) == " ".join(sentence.split()) == found.normalize(sentence)
    counts = Counter(id for sentence in sentences for id in found.encode(sentence))
    order = [(-counts[id], token) for id, token in enumerate(found.tokens(range(found.size)))][4:]
    assert order == sorted(order)
    assert len(counts) == found.size - 4


def test_the_saved_bytes_are_all(vocabulary):
    saved = json.loads(vocabulary.to_bytes())
    assert saved == {
        "kind": "subword-nmt",
        "codes": ["#version: 0.2", "a b", "b c</w>", "ab c</w>", "a a"],
        "pieces": ["abc", "b", "a@@", "ab@@", "bc"],
    }
    loaded = SubwordNmtVocabulary(vocabulary.to_bytes())
    assert [loaded.encode(text) for text in SENTENCES] == [vocabulary.encode(text) for text in SENTENCES]


def test_remembered_words_are_bounded(monkeypatch):
    monkeypatch.setattr(subword_nmt_vocabulary, "_CACHED_WORDS", 3)
    words = [f"{first}{second}" for first in "abc" for second in "abc"]
    found = count_vocabulary(read_codes(CODES), words)
    assert [found.decode(found.encode(word)) for word in words] == words
    assert len(found._bpe.cache) <= 4


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (b"", "line 1: must be '#version: 0.2', .*"),
        (b"a b\n", "line 1: must be '#version: 0.2', .*"),
        (b"#version: 0.1\na b\n", "line 1: must be '#version: 0.2', .*"),
        (b"#version: 0.2\n", "line 2: must be a merge, .*"),
        (b"#version: 0.2\na b\na\nb c\n", "line 3: must be a merge, .*"),
        (b"#version: 0.2\na b\na b c\n", "line 3: must be a merge, .*"),
        (b"#version: 0.2\na b\n\na b\n", "line 3: must be a merge, .*"),
        (b"#version: 0.2\na \xff\n", r"not UTF-8 \(.*\)"),
    ],
)
def test_what_is_no_list_of_merges_is_one_clear_error(codes, message, capfd):
    with pytest.raises(VocabularyError, match=f"^{message}$"):
        read_codes(codes)
    assert capfd.readouterr() == ("", "")


def test_lines_may_end_as_on_windows(vocabulary):
    found = count_vocabulary(read_codes(CODES.replace(b"\n", b"\r\n")), SENTENCES)
    assert found.tokens(range(found.size)) == vocabulary.tokens(range(vocabulary.size))


@pytest.mark.parametrize(
    "data",
    [b"{", b"[]", b"{}", b'{"codes": 5, "pieces": []}', b'{"codes": [], "pieces": [5]}', b'{"codes": ["\xff"]}'],
)
def test_damaged_bytes_are_one_clear_error(data):
    with pytest.raises(VocabularyError, match=r"^not a saved subword-nmt vocabulary$"):
        SubwordNmtVocabulary(data)


def test_merges_are_checked_in_saved_bytes_too(vocabulary):
    with pytest.raises(VocabularyError, match="line 3: must be a merge"):
        SubwordNmtVocabulary(vocabulary.to_bytes().replace(b"b c</w>", b"bc</w>", 1))
    with pytest.raises(VocabularyError, match="line 1: must be"):
        SubwordNmtVocabulary(b'{"codes": [], "pieces": []}')


def test_multi30ks_published_vocabulary(shared):
    """Wu et al. 2021: 9,708 types of pieces of 10,000 merges, English and German together."""
    folder = shared / "data/multi30k"
    files = [folder / f"tok/train.lc.norm.tok.{language}.gz" for language in ("en", "de")]
    text = [line for file in files for line in gzip.decompress(file.read_bytes()).decode().split("\n")[:-1]]
    vocabulary = count_vocabulary(read_codes((folder / "bpe10k/codes.en-de").read_bytes()), text)
    assert vocabulary.size == 9_708 + 4
    assert vocabulary.tokens([4]) == ["."]
    for line in text[::7]:
        ids = vocabulary.encode(line)
        assert UNK_ID not in ids
        assert vocabulary.decode(ids) == " ".join(line.split()) == vocabulary.normalize(line)
