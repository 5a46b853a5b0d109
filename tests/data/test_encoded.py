"""Ids are the vocabulary's, each sentence ends with the end token, and shards do not show."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_jax.data import encoded as encoded_module
from transformer_jax.data.encoded import Sequences, encode_pairs, encode_sentences
from transformer_jax.data.ragged import Ragged
from transformer_jax.data.vocabulary import learn_vocabulary
from transformer_jax.special_ids import EOS_ID, PAD_ID

SOURCES = ["the small dog", "", "the house sees the dog", "a", "the small house"]
TARGETS = ["der kleine hund", "das haus", "", "ein", "das kleine haus sieht"]


@pytest.fixture(scope="module")
def vocabulary():
    return learn_vocabulary([*SOURCES, *TARGETS], 37)


def ragged(sequences):
    offsets = np.cumsum([0, *map(len, sequences)], dtype=np.int64)
    return Ragged(np.array([id for ids in sequences for id in ids], np.uint16), offsets)


def test_ids_are_the_vocabularys_and_end_with_the_end_token(vocabulary):
    encoded = encode_pairs(SOURCES, TARGETS, vocabulary)
    assert len(encoded) == 5
    for i in range(5):
        for ids, text in ((encoded.source(i), SOURCES[i]), (encoded.target(i), TARGETS[i])):
            assert ids.tolist() == [*vocabulary.encode(text), EOS_ID]
            assert ids.dtype == np.int32
    assert encoded.source(1).tolist() == [EOS_ID]
    assert encoded.source_lengths.tolist() == [len(encoded.source(i)) for i in range(5)]
    assert encoded.target_lengths.tolist() == [len(encoded.target(i)) for i in range(5)]


def test_chunks_do_not_show(vocabulary, monkeypatch):
    whole = encode_sentences(SOURCES, vocabulary)
    monkeypatch.setattr(encoded_module, "_CHUNK", 2)
    chunked = encode_sentences(SOURCES, vocabulary)
    assert chunked.values.tolist() == whole.values.tolist()
    assert chunked.offsets.tolist() == whole.offsets.tolist()


class OneId:
    """Encodes every text as its largest id."""

    def __init__(self, size):
        self.size = size

    def encode_all(self, texts):
        return [[self.size - 1] for _ in texts]


@pytest.mark.usefixtures("unchecked_types")
@pytest.mark.parametrize(("size", "dtype"), [(65_536, np.uint16), (65_537, np.int32)])
def test_ids_take_16_bits_where_all_fit(size, dtype):
    encoded = encode_sentences(["a", "b"], OneId(size))
    assert encoded.values.dtype == dtype
    assert [encoded[i].tolist() for i in range(2)] == [[size - 1, EOS_ID]] * 2


SHARDS = st.lists(st.lists(st.lists(st.integers(4, 99), max_size=5), max_size=4), min_size=1, max_size=4)


@settings(max_examples=60, deadline=None)
@given(shards=SHARDS, data=st.data())
def test_shards_do_not_show(shards, data):
    flat = [ids for shard in shards for ids in shard]
    sequences = Sequences(tuple(map(ragged, shards)))
    assert [sequences[i].tolist() for i in range(len(sequences))] == flat
    assert sequences.lengths.tolist() == [len(ids) for ids in flat]
    assert sequences.lengths.dtype == np.int32
    indices = data.draw(st.lists(st.integers(0, len(flat) - 1), max_size=6)) if flat else []
    padded = sequences.padded(np.array(indices, np.uint32), rows=7, length=5)
    expected = [flat[i] + [PAD_ID] * (5 - len(flat[i])) for i in indices]
    assert padded.tolist() == expected + [[PAD_ID] * 5] * (7 - len(indices))
    assert padded.dtype == np.int32


@pytest.mark.parametrize("i", [-1, 3])
def test_there_is_no_sequence_before_the_first_or_after_the_last(i):
    with pytest.raises(IndexError, match=f"sequence {i} of 3"):
        Sequences((ragged([[5], [6, 7]]), ragged([[8]])))[i]


def test_what_does_not_fit_is_an_error():
    sequences = Sequences((ragged([[5] * 3, [6] * 7]),))
    with pytest.raises(ValueError, match="2 pairs do not fit into 1 rows"):
        sequences.padded(np.array([0, 1]), rows=1, length=7)
    with pytest.raises(ValueError, match="a sequence of 7 tokens does not fit into a batch of length 6"):
        sequences.padded(np.array([0, 1]), rows=2, length=6)


def test_on_disk_it_is_mapped_and_the_same(tmp_path):
    saved = ragged([[5, 6], [], [7]])
    saved.save(tmp_path, "source")
    loaded = Ragged.load(tmp_path, "source")
    assert [loaded[i].tolist() for i in range(3)] == [[5, 6], [], [7]]
    assert loaded.lengths.tolist() == [2, 0, 1]
    assert isinstance(loaded.values.base, np.memmap)
    assert loaded.values.dtype == np.uint16
