"""All splits as ids of one vocabulary; scoring needs no training text."""

import pytest
from readings import TREES

from transformer_jax.config import Cleaning, Data
from transformer_jax.data import prepared as prepared_module
from transformer_jax.data.corpus import CorpusError
from transformer_jax.data.prepared import prepare_data, prepare_split
from transformer_jax.data.vocabulary import VocabularyError, learn_vocabulary
from transformer_jax.special_ids import EOS_ID

TEXT = {
    "train": "the dog sees the house\tder hund sieht das haus\nsame\tsame\nthe house\tdas haus\nthe dog\tder hund\n",
    "dev": "the house sees\tdas haus sieht\nsame\tsame\n",
    "test": "the dog sees\tder hund sieht\nQ\tQ\n",
}
CLEANING = Cleaning(empty=True, identical=True, max_words=3, max_length_ratio=None, duplicate=False)


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
        vocabulary="bpe",
        vocab_size=19,
        vocab_sample=None,
        merge_across_scripts=False,
        max_train_length=50,
        cache_directory=str(tmp_path / "cache"),
    )


def test_all_splits_are_ids_of_one_vocabulary_and_training_alone_is_cleaned(data):
    prepared = prepare_data(data, CLEANING, TREES)
    assert prepared.vocabulary.size == 19
    assert prepared.corpora["dev"].targets == ["das haus sieht", "same"]
    assert {split: len(encoded) for split, encoded in prepared.splits.items()} == {"train": 2, "dev": 2, "test": 2}
    assert prepared.report.removed == {"identical": 1, "max_words": 1}
    for split in ("dev", "test"):
        for i, text in enumerate(prepared.corpora[split].sources):
            assert prepared.splits[split].source(i).tolist() == [*prepared.vocabulary.encode(text), EOS_ID]


def test_the_vocabulary_is_of_the_cleaned_training_texts_two_sides(data):
    prepared = prepare_data(data, CLEANING, TREES)
    expected = learn_vocabulary(["the house", "the dog", "das haus", "der hund"], 19)
    assert prepared.vocabulary.fingerprint == expected.fingerprint
    assert "⁇" in prepared.vocabulary.decode(prepared.splits["test"].source(1))


def test_one_split_needs_no_training_text(data, tmp_path):
    vocabulary = prepare_data(data, CLEANING, TREES).vocabulary
    (tmp_path / "train.tsv").unlink()
    corpus, encoded = prepare_split(data, TREES, vocabulary, "test")
    assert corpus.sources == ["the dog sees", "Q"]
    assert encoded.source(0).tolist() == [*vocabulary.encode("the dog sees"), EOS_ID]
    with pytest.raises(ValueError, match="split 'valid': must be one of train, dev, test"):
        prepare_split(data, TREES, vocabulary, "valid")


def test_a_missing_split_is_found_before_the_training_text_is_prepared(data, tmp_path, monkeypatch):
    monkeypatch.setattr(prepared_module, "prepare_training_data", None)
    (tmp_path / "test.tsv").unlink()
    with pytest.raises(CorpusError, match=r"test\.tsv: No such file"):
        prepare_data(data, CLEANING, TREES)


def test_too_large_a_vocabulary_says_the_limit(data):
    changed = Data(**{**vars(data), "vocab_size": 1000})
    with pytest.raises(VocabularyError, match=r"vocab_size = 1000: the training text supports at most \d+ pieces"):
        prepare_data(changed, CLEANING, TREES)
