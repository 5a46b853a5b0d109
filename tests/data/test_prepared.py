"""Preparing is reading, learning and encoding, each done once; evaluation needs no training text."""

import pytest

from transformer_jax.config import Data
from transformer_jax.data import prepared as prepared_module
from transformer_jax.data.corpus import CorpusError
from transformer_jax.data.prepared import prepare_data, prepare_split
from transformer_jax.data.vocabulary import EOS_ID, VocabularyError, learn_vocabulary

TEXT = {
    "train": "the dog sees the house\tder hund sieht das haus\nthe house\tdas haus\nthe dog\tder hund\n",
    "dev": "the house sees\tdas haus sieht\n",
    "test": "the dog sees\tder hund sieht\nQ\tQ\n",
}


@pytest.fixture
def data(tmp_path):
    for split, text in TEXT.items():
        (tmp_path / f"{split}.tsv").write_text(text)
    return Data(
        source_language="en",
        target_language="de",
        train="train.tsv",
        dev="dev.tsv",
        test="test.tsv",
        directory=str(tmp_path),
        vocab_size=31,
        max_train_length=50,
        cache_directory=str(tmp_path / "cache"),
    )


def count_learning(monkeypatch):
    calls = []

    def counting(sentences, vocab_size):
        calls.append(vocab_size)
        return learn_vocabulary(sentences, vocab_size)

    monkeypatch.setattr(prepared_module, "learn_vocabulary", counting)
    return calls


def replace(data, **changes):
    return Data(**{**vars(data), **changes})


def test_all_splits_as_text_and_ids(data):
    prepared = prepare_data(data)
    assert prepared.vocabulary.size == 31
    assert prepared.corpora["dev"].targets == ["das haus sieht"]
    assert {split: len(encoded) for split, encoded in prepared.splits.items()} == {"train": 3, "dev": 1, "test": 2}
    for split, encoded in prepared.splits.items():
        for i, text in enumerate(prepared.corpora[split].sources):
            assert encoded.source(i).tolist() == [*prepared.vocabulary.encode(text), EOS_ID]


def test_the_vocabulary_is_of_the_training_splits_two_sides(data):
    train = [side for line in TEXT["train"].splitlines() for side in line.split("\t")]
    sources, targets = train[::2], train[1::2]
    prepared = prepare_data(data)
    assert prepared.vocabulary.fingerprint == learn_vocabulary([*sources, *targets], 31).fingerprint
    assert "⁇" in prepared.vocabulary.decode(prepared.splits["test"].source(1))


def test_the_vocabulary_is_learned_once(data, monkeypatch):
    calls = count_learning(monkeypatch)
    first, second = prepare_data(data), prepare_data(data)
    assert calls == [31]
    assert first.vocabulary.fingerprint == second.vocabulary.fingerprint
    assert prepare_data(replace(data, vocab_size=29)).vocabulary.size == 29
    assert prepare_data(replace(data, train="test.tsv", vocab_size=19)).vocabulary.size == 19
    assert calls == [31, 29, 19]


def test_a_damaged_vocabulary_is_learned_anew(data, tmp_path, monkeypatch):
    expected = prepare_data(data).vocabulary.fingerprint
    (path,) = (tmp_path / "cache").glob("*.model")
    path.write_bytes(b"junk")
    calls = count_learning(monkeypatch)
    assert prepare_data(data).vocabulary.fingerprint == expected
    assert prepare_data(data).vocabulary.fingerprint == expected
    assert calls == [31]


def test_the_home_directory_is_expanded(data, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    prepare_data(replace(data, cache_directory="~/kept"))
    assert list((tmp_path / "home" / "kept").glob("*.model"))
    assert not (tmp_path / "~").exists()


def test_one_split_needs_no_training_text(data, tmp_path):
    vocabulary = prepare_data(data).vocabulary
    (tmp_path / "train.tsv").unlink()
    corpus, encoded = prepare_split(data, vocabulary, "test")
    assert corpus.sources == ["the dog sees", "Q"]
    assert encoded.source(0).tolist() == [*vocabulary.encode("the dog sees"), EOS_ID]
    with pytest.raises(ValueError, match="split 'valid': must be one of train, dev, test"):
        prepare_split(data, vocabulary, "valid")


def test_a_missing_split_is_found_before_the_vocabulary_is_learned(data, tmp_path, monkeypatch):
    calls = count_learning(monkeypatch)
    (tmp_path / "test.tsv").unlink()
    with pytest.raises(CorpusError, match=r"test\.tsv: No such file"):
        prepare_data(data)
    assert calls == []


def test_too_large_a_vocabulary_says_the_limit(data):
    with pytest.raises(VocabularyError, match=r"vocab_size = 1000: the training text supports at most \d+ pieces"):
        prepare_data(replace(data, vocab_size=1000))
