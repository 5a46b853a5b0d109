"""The manifest of a launch: what a number came from, when the folder is all that is left."""

import dataclasses
import json

import pytest
from tiny_experiment import encoded, random_corpus, tiny_experiment

from experiments import provenance
from experiments.provenance import launch
from experiments.workdir import note_launch
from transformer_jax.data.encoded import EncodedCorpus, Sequences
from transformer_jax.data.preparation.cleaning import Report
from transformer_jax.data.prepared import PreparedData
from transformer_jax.data.vocabulary import learn_vocabulary

SENTENCES = [[5, 6, 7], [8], [9, 10]]


def data(**splits: EncodedCorpus) -> PreparedData:
    vocabulary = learn_vocabulary(["the small dog", "der kleine hund"], 29)
    return PreparedData(vocabulary, {"train": random_corpus(1, 7), **splits}, {}, Report(7, {}), None)


def noted(**changes) -> dict:
    return launch(tiny_experiment(**changes), data(), ["Training.seed: 3 -> 5"])


def test_it_says_all_that_the_config_does_not(monkeypatch):
    for name in list(provenance.os.environ):
        if name.startswith(("XLA_", "JAX_", "GLIBC_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XLA_FLAGS", "--xla_of_ours")
    monkeypatch.setenv("JAX_ENABLE_X64", "0")
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
    monkeypatch.setenv("SECRET_TOKEN", "none of a manifest's")
    told = noted(seed=5)
    assert told["flags"] == {
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "JAX_ENABLE_X64": "0", "XLA_FLAGS": "--xla_of_ours",
    }  # fmt: skip
    assert (told["seed"], told["processes"], told["overridden"]) == (5, 1, ["Training.seed: 3 -> 5"])
    assert told.keys() >= {"command", "revision", "versions", "machine", "devices", "date"}
    assert told["devices"] == "8 x cpu"
    assert told["vocabulary_sha256"] == data().vocabulary.fingerprint


def fingerprint(sources: Sequences, targets: Sequences) -> str:
    split = EncodedCorpus(sources, targets)
    return launch(tiny_experiment(), data(dev=split), [])["data_sha256"]["dev"]


def test_another_text_has_another_fingerprint():
    """One id more or less, in another place, in another sentence, or on the other side."""
    others = [[[5, 6], [7, 8], [9, 10]], [[5, 6, 7], [8], [9, 11]], [[5, 6, 7], [9, 10], [8]], [[5, 6, 7], [8, 9, 10]]]
    texts = [encoded(sentences) for sentences in [SENTENCES, *others]]
    prints = [fingerprint(text, texts[0]) for text in texts] + [fingerprint(texts[0], text) for text in texts[1:]]
    assert len(set(prints)) == len(prints)


@pytest.mark.parametrize("dtype", ["uint16", "int32"])
def test_the_same_text_has_the_same_however_it_is_stored(dtype):
    whole = encoded(SENTENCES)
    (shard,) = whole.shards
    divided = Sequences((*encoded(SENTENCES[:1]).shards, *encoded(SENTENCES[1:]).shards))
    stored = Sequences((dataclasses.replace(shard, values=shard.values.astype(dtype)),))
    assert fingerprint(divided, stored) == fingerprint(whole, whole)


def test_a_launch_is_a_line_whole_or_not_there(tmp_path, monkeypatch):
    note_launch(tmp_path, {"seed": 1})

    def fail(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", fail)
        with pytest.raises(OSError, match="disk full"):
            note_launch(tmp_path, {"seed": 2})
    note_launch(tmp_path, {"seed": 3})
    lines = (tmp_path / "launches.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"seed": 1}, {"seed": 3}]
