"""Ids round-trip to text; the special ids are ours; what SentencePiece does badly becomes one clear error."""

import gzip
import io
from pathlib import Path

import numpy as np
import pytest
import sentencepiece

from transformer_jax.data.vocabulary import (
    BOS_ID,
    EOS_ID,
    PAD_ID,
    UNK_ID,
    Vocabulary,
    VocabularyError,
    learn_vocabulary,
)

SENTENCES = [
    "The small dog sees the small house.",
    "Der kleine Hund sieht das kleine Haus.",
    "The house sees nothing at all.",
    "Das Haus sieht überhaupt nichts.",
]
SHARED = Path(__file__).resolve().parents[3] / "shared"


@pytest.fixture(scope="module")
def vocabulary():
    return learn_vocabulary(SENTENCES, 61)


def test_special_ids_are_reserved_and_distinct(vocabulary):
    assert vocabulary.tokens([PAD_ID, BOS_ID, EOS_ID, UNK_ID]) == ["<pad>", "<s>", "</s>", "<unk>"]
    ids = {id for sentence in SENTENCES for id in vocabulary.encode(sentence)}
    assert not ids & {PAD_ID, BOS_ID, EOS_ID, UNK_ID}


def test_special_tokens_written_in_text_are_text(vocabulary):
    assert not {PAD_ID, BOS_ID, EOS_ID} & set(vocabulary.encode("<pad> <s> </s> a</s>"))


def test_size_is_what_was_asked(vocabulary):
    assert vocabulary.size == 61
    assert max(id for sentence in SENTENCES for id in vocabulary.encode(sentence)) < 61


@pytest.mark.parametrize(
    "text", [*SENTENCES, "", "  the   dog ", "\u00a0the\u2028dog\r", "ｔｈｅ dog", "u\u0308berhaupt"]
)
def test_round_trip_up_to_normalisation(vocabulary, text):
    assert vocabulary.decode(vocabulary.encode(text)) == vocabulary.normalize(text)


def test_normalisation_is_the_identity_on_plain_text(vocabulary):
    assert [vocabulary.normalize(sentence) for sentence in SENTENCES] == SENTENCES


def test_normalisation_composes_and_collapses(vocabulary):
    assert vocabulary.normalize("  ｕ\u0308ber\u00a0\u3000das  Haus ") == "über das Haus"


def test_decode_leaves_out_specials_and_shows_unknown(vocabulary):
    ids = vocabulary.encode("the dog")
    assert vocabulary.decode([BOS_ID, *ids, EOS_ID, PAD_ID, PAD_ID]) == "the dog"
    assert "⁇" in vocabulary.decode([*ids, UNK_ID])
    assert UNK_ID in vocabulary.encode("Ω")


def test_decode_takes_numpy_ids(vocabulary):
    ids = vocabulary.encode("the small dog")
    assert vocabulary.decode(np.array(ids, np.uint16)) == "the small dog"
    assert vocabulary.tokens(np.array(ids, np.int32)) == vocabulary.tokens(ids)
    assert "".join(vocabulary.tokens(ids)) == "▁the▁small▁dog"


@pytest.mark.parametrize("id", [-1, 61])
def test_an_id_outside_is_an_error(vocabulary, id):
    for method in (vocabulary.decode, vocabulary.tokens):
        with pytest.raises(VocabularyError, match=rf"id {id} is outside the vocabulary of 61 pieces"):
            method([5, id])


def test_encode_all_is_encode_of_each(vocabulary):
    assert vocabulary.encode_all([*SENTENCES, ""]) == [vocabulary.encode(sentence) for sentence in [*SENTENCES, ""]]


def test_pieces_are_byte_pair_merges_the_most_frequent_pair_first():
    """Of "_ab" three times and "_ac" once: "_a" occurs four times, then "_ab" three times, then "_ac"."""
    text = ["ab ab ab ac"]
    by_size = {size: learn_vocabulary(text, size) for size in (9, 10, 11)}
    assert {size: vocabulary.tokens(range(4, size - 4)) for size, vocabulary in by_size.items()} == {
        9: ["▁a"], 10: ["▁a", "▁ab"], 11: ["▁a", "▁ab", "▁ac"],
    }  # fmt: skip
    assert by_size[9].tokens(by_size[9].encode("ab ac")) == ["▁a", "b", "▁a", "c"]
    assert by_size[10].tokens(by_size[10].encode("ab ac")) == ["▁ab", "▁a", "c"]
    assert by_size[11].tokens(by_size[11].encode("ab ac")) == ["▁ab", "▁ac"]


def test_the_same_text_gives_the_same_vocabulary(vocabulary, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    again = learn_vocabulary(iter(SENTENCES), 61)
    assert again.fingerprint == vocabulary.fingerprint
    assert learn_vocabulary(SENTENCES, 60).fingerprint != vocabulary.fingerprint
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_too_large_a_size_names_the_largest_possible():
    with pytest.raises(
        VocabularyError, match=r"vocab_size = 5000: the training text supports at most \d+ pieces"
    ) as error:
        learn_vocabulary(SENTENCES, 5000)
    largest = int(str(error.value).split()[-2])
    assert learn_vocabulary(SENTENCES, largest).size == largest
    with pytest.raises(VocabularyError, match=f"at most {largest} pieces"):
        learn_vocabulary(SENTENCES, largest + 1)


def test_too_small_a_size_names_the_least_possible():
    # a, b, c, the space mark and four special ids.
    with pytest.raises(VocabularyError, match="vocab_size = 7: must be at least 8"):
        learn_vocabulary(["abc abc", "ab"], 7)
    assert learn_vocabulary(["abc abc", "ab"], 8).size == 8


@pytest.mark.parametrize("sentences", [[], ["", ""]])
def test_no_text_is_an_error(sentences):
    with pytest.raises(VocabularyError, match="no text"):
        learn_vocabulary(sentences, 10)


def test_long_lines_and_tabs_are_not_dropped():
    long = "abab " * 2000 + "Ω"
    vocabulary = learn_vocabulary(["abab ab", long, "cd\tcd"], 12)
    assert UNK_ID not in vocabulary.encode("Ω cd")


def test_save_and_load(vocabulary, tmp_path):
    path = tmp_path / "new" / "v.model"
    vocabulary.save(path)
    vocabulary.save(str(path))
    loaded = Vocabulary.load(path)
    assert loaded.model_bytes == vocabulary.model_bytes
    assert loaded.encode(SENTENCES[0]) == vocabulary.encode(SENTENCES[0])
    assert [file.name for file in path.parent.iterdir()] == ["v.model"]


def test_a_failed_save_leaves_the_old_file(vocabulary, tmp_path, monkeypatch):
    path = tmp_path / "v.model"
    path.write_bytes(b"old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        vocabulary.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["v.model"]
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("content", [b"", b"junk", b"\0" * 99])
def test_a_corrupt_file_is_one_clear_error(tmp_path, content):
    path = tmp_path / "v.model"
    path.write_bytes(content)
    with pytest.raises(VocabularyError, match=r"vocabulary .*v\.model: not a SentencePiece model$"):
        Vocabulary.load(path)


def test_a_truncated_file_is_an_error(vocabulary, tmp_path):
    path = tmp_path / "v.model"
    path.write_bytes(vocabulary.model_bytes[:-100])
    with pytest.raises(VocabularyError, match=r"v\.model"):
        Vocabulary.load(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(VocabularyError, match=r"absent\.model: No such file"):
        Vocabulary.load(tmp_path / "absent.model")


def test_another_models_special_ids_are_refused():
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES), model_writer=model, vocab_size=61, model_type="bpe", minloglevel=2
    )
    with pytest.raises(VocabularyError, match=r"have the ids \(-1, 1, 2, 0\): must be 0, 1, 2, 3"):
        Vocabulary(model.getvalue())


def test_multi30k_round_trips():
    path = SHARED / "data/multi30k/raw/val.de.gz"
    if not path.exists():
        pytest.skip("Multi30k is not here")
    sentences = gzip.decompress(path.read_bytes()).decode().removesuffix("\n").split("\n")
    vocabulary = learn_vocabulary(sentences, 997)
    for sentence in sentences:
        assert vocabulary.decode(vocabulary.encode(sentence)) == vocabulary.normalize(sentence)
