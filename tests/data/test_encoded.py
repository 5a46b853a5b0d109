"""What is on disk is what the vocabulary says; damage and interruption never give half a corpus."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from transformer_jax.data import encoded as encoded_module
from transformer_jax.data.corpus import Corpus
from transformer_jax.data.encoded import encode_corpus, encode_sentences
from transformer_jax.data.vocabulary import EOS_ID, Vocabulary, learn_vocabulary

SOURCES = ["the small dog", "", "the house sees the dog", "a", "the small house"]
TARGETS = ["der kleine hund", "das haus", "", "ein", "das kleine haus sieht"]


@pytest.fixture(scope="module")
def vocabulary():
    return learn_vocabulary([*SOURCES, *TARGETS], 37)


@pytest.fixture
def corpus():
    return Corpus("tiny", SOURCES, TARGETS)


def check(encoded, corpus, vocabulary):
    assert len(encoded) == len(corpus)
    for i in range(len(corpus)):
        assert encoded.source(i).tolist() == [*vocabulary.encode(corpus.sources[i]), EOS_ID]
        assert encoded.target(i).tolist() == [*vocabulary.encode(corpus.targets[i]), EOS_ID]
        assert encoded.source_lengths[i] == len(encoded.source(i))
        assert encoded.target_lengths[i] == len(encoded.target(i))


def count_encodings(monkeypatch):
    calls = []

    def counting(*arguments):
        calls.append(arguments)
        return encode_sentences(*arguments)

    monkeypatch.setattr(encoded_module, "encode_sentences", counting)
    return calls


def test_ids_are_the_vocabularys_and_end_with_the_end_token(corpus, vocabulary, tmp_path):
    encoded = encode_corpus(corpus, vocabulary, tmp_path)
    check(encoded, corpus, vocabulary)
    assert encoded.source(1).tolist() == [EOS_ID]
    assert encoded.source(0).dtype == encoded.target(0).dtype == np.int32
    assert encoded.sources.ids.dtype == np.uint16


def test_chunks_do_not_show(corpus, vocabulary, tmp_path, monkeypatch):
    monkeypatch.setattr(encoded_module, "_CHUNK", 2)
    check(encode_corpus(corpus, vocabulary, tmp_path), corpus, vocabulary)


class OneId(Vocabulary):
    """Encodes every text as its largest id."""

    size = None  # takes the place of the property

    def __init__(self, size):
        self.size = size

    def encode_all(self, texts):
        return [[self.size - 1] for _ in texts]


@pytest.mark.parametrize(("size", "dtype"), [(65_536, np.uint16), (65_537, np.int32)])
def test_ids_take_16_bits_where_all_fit(size, dtype):
    sequences = encode_sentences(["a", "b"], OneId(size))
    assert sequences.ids.dtype == dtype
    assert [sequences[i].tolist() for i in range(2)] == [[size - 1, EOS_ID]] * 2


def test_the_second_time_comes_from_the_cache(corpus, vocabulary, tmp_path, monkeypatch):
    calls = count_encodings(monkeypatch)
    encode_corpus(corpus, vocabulary, tmp_path)
    encoded = encode_corpus(Corpus("other name, same text", list(SOURCES), list(TARGETS)), vocabulary, tmp_path)
    assert len(calls) == 2
    check(encoded, corpus, vocabulary)
    assert isinstance(encoded.sources.ids.base, np.memmap)


def test_other_text_or_vocabulary_is_another_entry(corpus, vocabulary, tmp_path):
    swapped = Corpus("swapped", TARGETS, SOURCES)
    smaller = learn_vocabulary([*SOURCES, *TARGETS], 31)
    check(encode_corpus(corpus, vocabulary, tmp_path), corpus, vocabulary)
    check(encode_corpus(swapped, vocabulary, tmp_path), swapped, vocabulary)
    check(encode_corpus(corpus, smaller, tmp_path), corpus, smaller)
    assert len(list(tmp_path.iterdir())) == 3


def test_the_fingerprint_says_what_it_is_of(corpus, vocabulary, tmp_path):
    encode_corpus(corpus, vocabulary, tmp_path)
    (entry,) = tmp_path.iterdir()
    fingerprint = json.loads((entry / "fingerprint.json").read_text())
    assert fingerprint["corpus"] == corpus.fingerprint
    assert fingerprint["vocabulary"] == vocabulary.fingerprint
    assert fingerprint["pairs"] == 5


def flip_last_byte(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        flip_last_byte,
        lambda path: path.write_bytes(path.read_bytes()[:-3]),
        lambda path: path.write_bytes(b""),
        lambda path: path.unlink(),
    ],
)
@pytest.mark.parametrize("name", ["source_ids.npy", "target_offsets.npy", "fingerprint.json"])
def test_a_damaged_entry_is_made_anew(corpus, vocabulary, tmp_path, monkeypatch, name, damage):
    encode_corpus(corpus, vocabulary, tmp_path)
    (entry,) = tmp_path.iterdir()
    whole = (entry / name).read_bytes()
    damage(entry / name)
    calls = count_encodings(monkeypatch)
    check(encode_corpus(corpus, vocabulary, tmp_path), corpus, vocabulary)
    assert len(calls) == 2
    assert (entry / name).read_bytes() == whole
    assert list(tmp_path.iterdir()) == [entry]


def test_an_interrupted_write_leaves_nothing(corpus, vocabulary, tmp_path, monkeypatch):
    written = []

    def interrupted(path, array):
        if len(written) == 2:
            raise KeyboardInterrupt
        written.append(path)
        path.write_bytes(array.tobytes())

    with monkeypatch.context() as patch:
        patch.setattr(np, "save", interrupted)
        with pytest.raises(KeyboardInterrupt):
            encode_corpus(corpus, vocabulary, tmp_path)
    assert len(written) == 2
    assert list(tmp_path.iterdir()) == []
    check(encode_corpus(corpus, vocabulary, tmp_path), corpus, vocabulary)


def test_a_temporary_directory_of_a_killed_process_is_no_entry(corpus, vocabulary, tmp_path):
    encode_corpus(corpus, vocabulary, tmp_path)
    (entry,) = tmp_path.iterdir()
    entry.rename(tmp_path / f".{entry.name}.killed")
    check(encode_corpus(corpus, vocabulary, tmp_path), corpus, vocabulary)


def test_several_writers_at_once_agree(corpus, vocabulary, tmp_path):
    with ThreadPoolExecutor(5) as pool:
        results = list(pool.map(lambda _: encode_corpus(corpus, vocabulary, tmp_path), range(15)))
    for encoded in results:
        check(encoded, corpus, vocabulary)
    assert len(list(tmp_path.iterdir())) == 1
