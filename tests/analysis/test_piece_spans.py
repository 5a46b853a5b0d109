"""Pieces stand in their text in order, without gaps but for blanks, whatever the vocabulary."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_jax.analysis.piece_spans import piece_spans
from transformer_jax.data.vocabularies.sentencepiece_vocabulary import learn_vocabulary
from transformer_jax.data.vocabularies.subword_nmt_vocabulary import count_vocabulary
from transformer_jax.data.vocabularies.tensor2tensor_vocabulary import Tensor2TensorVocabulary
from transformer_jax.special_ids import BOS_ID, EOS_ID

SENTENCES = ["abc abb ba.", "bc ab ab, c"]
SUBTOKENS = ["<pad>", "<EOS>", "ab_", "abc", ", _", *"\\_u;0123456789<>padEOSbc.,' "]
VOCABULARIES = {
    "sentencepiece": learn_vocabulary(SENTENCES, 14),
    "subword-nmt": count_vocabulary(["#version: 0.2", "a b", "b c</w>"], SENTENCES),
    "tensor2tensor": Tensor2TensorVocabulary("".join(f"'{each}'\n" for each in SUBTOKENS).encode()),
}


@pytest.fixture(params=VOCABULARIES, scope="module")
def vocabulary(request):
    return VOCABULARIES[request.param]


@settings(deadline=None, max_examples=60)
@given(text=st.text(alphabet="abc., x\\", max_size=12))
def test_pieces_are_all_of_the_text(vocabulary, text):
    ids = vocabulary.encode(text)
    decoded, spans = vocabulary.decode(ids), piece_spans(vocabulary, ids)
    assert len(spans) == len(ids)
    at = 0
    for start, end in spans:
        assert decoded[at:start].strip() == ""
        assert start <= end
        at = end
    assert at == len(decoded)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("subword-nmt", "abc ab", ["ab", "c", "a", "b"]),
        ("tensor2tensor", "ab ab, abc", ["ab", "ab", ", ", "abc", ""]),
    ],
)
def test_by_hand(name, text, expected):
    vocabulary = VOCABULARIES[name]
    ids = vocabulary.encode(text)
    assert [vocabulary.decode(ids)[slice(*span)] for span in piece_spans(vocabulary, ids)] == expected


def test_special_ids_say_nothing(vocabulary):
    ids = [BOS_ID, *vocabulary.encode("ab"), EOS_ID]
    spans = piece_spans(vocabulary, ids)
    assert spans[0] == (0, 0)
    assert spans[-1] == (2, 2)
