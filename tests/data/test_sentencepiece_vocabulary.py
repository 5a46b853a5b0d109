"""Ids round-trip to text; the special ids are ours; what SentencePiece does badly becomes one clear error."""

import gzip
import io
import math
import random
import re

import pytest
import sentencepiece

from transformer_jax.data.vocabularies.base import VocabularyError
from transformer_jax.data.vocabularies.sentencepiece_vocabulary import SentencePieceVocabulary, learn_vocabulary
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID, UNK_ID

SENTENCES = [
    "The small dog sees the small house.",
    "Der kleine Hund sieht das kleine Haus.",
    "The house sees nothing at all.",
    "Das Haus sieht überhaupt nichts.",
]
KINDS = ["bpe", "unigram"]
SIZE = 41


@pytest.fixture(scope="module", params=KINDS)
def vocabulary(request):
    return learn_vocabulary(SENTENCES, SIZE, request.param)


def test_special_ids_are_reserved_and_distinct(vocabulary):
    assert vocabulary.tokens([PAD_ID, BOS_ID, EOS_ID, UNK_ID]) == ["<pad>", "<s>", "</s>", "<unk>"]
    ids = {id for sentence in SENTENCES for id in vocabulary.encode(sentence)}
    assert not ids & {PAD_ID, BOS_ID, EOS_ID, UNK_ID}


def test_special_tokens_written_in_text_are_text(vocabulary):
    assert not {PAD_ID, BOS_ID, EOS_ID} & set(vocabulary.encode("<pad> <s> </s> a</s>"))


def test_size_is_what_was_asked(vocabulary):
    assert vocabulary.size == SIZE
    assert max(id for sentence in SENTENCES for id in vocabulary.encode(sentence)) < SIZE


@pytest.mark.parametrize(
    "text", [*SENTENCES, "", "  the   dog ", "\u00a0the\u2028dog\r", "ｔｈｅ dog", "u\u0308berhaupt"]
)
def test_round_trip_up_to_normalisation(vocabulary, text):
    assert vocabulary.decode(vocabulary.encode(text)) == vocabulary.normalize(text)


def test_normalisation_is_the_identity_on_plain_text(vocabulary):
    assert [vocabulary.normalize(sentence) for sentence in SENTENCES] == SENTENCES


def test_normalisation_composes_and_collapses(vocabulary):
    assert vocabulary.normalize("  ｕ\u0308ber\u00a0\u3000das  Haus ") == "über das Haus"


def test_pieces_spell_the_text(vocabulary):
    assert "".join(vocabulary.tokens(vocabulary.encode("the small dog"))) == "▁the▁small▁dog"


def test_unknown_characters_show(vocabulary):
    assert UNK_ID in vocabulary.encode("Ω")
    assert "⁇" in vocabulary.decode(vocabulary.encode("the Ω"))


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


def test_unigram_pieces_split_where_the_product_of_probabilities_is_largest():
    """Where merges would begin with the pair that came first."""
    vocabulary = learn_vocabulary(SENTENCES, SIZE, "unigram")
    model = sentencepiece.SentencePieceProcessor(model_proto=vocabulary.to_bytes())
    scores = {model.id_to_piece(id): model.get_score(id) for id in range(4, SIZE)}
    assert 0.5 < sum(map(math.exp, scores.values())) <= 1
    words = {word for sentence in SENTENCES for word in sentence.split()}
    found = {word: vocabulary.tokens(vocabulary.encode(word)) for word in words}
    assert found == {word: best_split(f"▁{word}", scores) for word in words}
    assert any(len(split) < len(f"▁{word}") for word, split in found.items())


def best_split(word, scores):
    """By trying all: each character begins a piece or does not."""
    splits = [[word[0]]]
    for character in word[1:]:
        splits = [[*s[:-1], s[-1] + character] for s in splits] + [[*s, character] for s in splits]
    known = [split for split in splits if all(piece in scores for piece in split)]
    return max(known, key=lambda split: sum(scores[piece] for piece in split))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_text_gives_the_same_vocabulary(kind, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    first, again = learn_vocabulary(SENTENCES, SIZE, kind), learn_vocabulary(iter(SENTENCES), SIZE, kind)
    assert again.fingerprint == first.fingerprint
    assert learn_vocabulary(SENTENCES, SIZE - 1, kind).fingerprint != first.fingerprint
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("kind", KINDS)
def test_too_large_a_size_names_the_largest_possible(kind):
    with pytest.raises(
        VocabularyError, match=r"vocab_size = 5000: the training text supports at most \d+ pieces"
    ) as error:
        learn_vocabulary(SENTENCES, 5000, kind)
    largest = int(str(error.value).split()[-2])
    assert learn_vocabulary(SENTENCES, largest, kind).size == largest
    with pytest.raises(VocabularyError, match=f"at most {largest} pieces"):
        learn_vocabulary(SENTENCES, largest + 1, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_too_small_a_size_names_the_least_possible(kind):
    # a, b, c, the space mark and four special ids.
    with pytest.raises(VocabularyError, match="vocab_size = 7: must be at least 8"):
        learn_vocabulary(["abc abc", "ab"], 7, kind)
    assert learn_vocabulary(["abc abc", "ab"], 8, kind).size == 8


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sentences", [[], ["", ""], [" ", "\u2028"]])
def test_no_text_is_an_error(sentences, kind):
    with pytest.raises(VocabularyError, match="no text"):
        learn_vocabulary(sentences, 10, kind)


HOSTILE = {
    "tab": "c\tc", "NUL": "c\0c", "control": "c\x01\x7f", "NEL": "c\x85c", "line separator": "c\u2028c",
    "carriage return": "c\rc", "BOM": "\ufeffc", "SentencePiece's space": "c▁c", "SentencePiece's unknown": "c▅c",
    "emoji": "c 👩\u200d👧", "right to left": "שלום", "special token": "c <pad>", "noncharacter": "c\uffff\U0010ffff",
    "long line": "".join(random.Random(7).choices("abcdefgh ", k=100_000)),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_sentence_is_dropped(hostile, kind):
    """Whatever stands in it: a character that only this sentence holds is a piece."""
    assert UNK_ID not in learn_smallest(["ab abc", f"{HOSTILE[hostile]} Ω"], kind).encode("Ω")


def learn_smallest(sentences, kind):
    with pytest.raises(VocabularyError, match=r"must be at least \d+") as error:
        learn_vocabulary(sentences, 5, kind)
    return learn_vocabulary(sentences, int(re.search(r"at least (\d+)", str(error.value))[1]), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_what_no_piece_covers_is_unknown_and_no_more(kind):
    vocabulary = learn_smallest(["ab \0 ▅ ab"], kind)
    for character in "\0▅":
        ids = vocabulary.encode(f"a{character}b")
        assert ids.count(UNK_ID) == 1
        assert vocabulary.decode(ids) == "a ⁇ b"


@pytest.mark.parametrize("data", [b"", b"junk", b"\0" * 99])
def test_what_is_no_model_is_one_clear_error(data):
    with pytest.raises(VocabularyError, match=r"^not a SentencePiece model$"):
        SentencePieceVocabulary(data)


def test_another_models_special_ids_are_refused():
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES), model_writer=model, vocab_size=61, model_type="bpe", minloglevel=2
    )
    with pytest.raises(VocabularyError, match=r"have the ids \(-1, 1, 2, 0\): must be 0, 1, 2, 3"):
        SentencePieceVocabulary(model.getvalue())


@pytest.mark.parametrize("kind", KINDS)
def test_multi30k_round_trips(shared, kind):
    text = gzip.decompress((shared / "data/multi30k/raw/val.de.gz").read_bytes()).decode()
    sentences = text.removesuffix("\n").split("\n")
    vocabulary = learn_vocabulary(sentences, 997, kind)
    for sentence in sentences:
        assert vocabulary.decode(vocabulary.encode(sentence)) == vocabulary.normalize(sentence)


@pytest.mark.parametrize(("kind", "size"), [("bpe", 24), ("unigram", 20)])
def test_a_piece_is_of_one_script_unless_scripts_may_be_merged(kind, size):
    text = ["NP /NP VP /VP (a) x-y"] * 5 + ["NP dog /NP"] * 20
    apart, merged = (learn_vocabulary(text, size, kind, merge_across_scripts=merge) for merge in (False, True))
    assert apart.tokens(apart.encode("NP /NP"))[-2:] == ["▁/", "NP"]
    assert merged.tokens(merged.encode("NP /NP"))[-1] == "▁/NP"
    for vocabulary in (apart, merged):
        assert vocabulary.decode(vocabulary.encode("VP (a) /NP")) == "VP (a) /NP"
