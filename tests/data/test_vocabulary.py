"""What all kinds of vocabularies share, and how a config's words become one of them."""

import gzip
import hashlib
import json
import os
from itertools import permutations

import numpy as np
import pytest

from transformer_jax.data.vocabulary import (
    VocabularyError,
    load_vocabulary,
    make_vocabulary,
    vocabulary_from_bytes,
    vocabulary_identity,
)
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID, UNK_ID

SENTENCES = ["the small dog sees the small house", "der hund sieht das haus"]
CHARACTERS = "\\_u;0123456789<>padEOS" + "hrtsmlgi "
CODES = "#version: 0.2\nt h\nth e</w>\ns e\n"
SUBTOKENS = "".join(f"'{piece}'\n" for piece in ["<pad>", "<EOS>", "the_", "s_", *CHARACTERS, "e", "n", "o"])
SIZES = {"bpe": 37, "unigram": 23, "sentencepiece:v.model": 31, "subword-nmt:codes": 24, "tensor2tensor:v.subwords": 40}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabularies")
    make_vocabulary("bpe", 31, "", SENTENCES).save(path / "v.model")
    (path / "codes").write_text(CODES)
    (path / "v.subwords").write_text(SUBTOKENS)
    for name in ("v.model", "codes", "v.subwords"):
        (path / f"{name}.gz").write_bytes(gzip.compress((path / name).read_bytes()))
    return path


@pytest.fixture(scope="module")
def made(folder):
    return {kind: make_vocabulary(kind, size, str(folder), SENTENCES) for kind, size in SIZES.items()}


@pytest.fixture(params=SIZES)
def vocabulary(request, made):
    return made[request.param]


def test_size_is_what_was_asked(made):
    assert {kind: vocabulary.size for kind, vocabulary in made.items()} == SIZES


def test_the_training_text_comes_back(vocabulary):
    for sentence in SENTENCES:
        assert vocabulary.decode(vocabulary.encode(sentence)) == vocabulary.normalize(sentence) == sentence


def test_special_ids_are_reserved_and_distinct(vocabulary):
    assert vocabulary.tokens([PAD_ID, BOS_ID, EOS_ID, UNK_ID]) == ["<pad>", "<s>", "</s>", "<unk>"]
    ids = {id for sentence in SENTENCES for id in vocabulary.encode(sentence)}
    assert ids <= set(range(4, vocabulary.size))
    assert len(ids) > 4


def test_decode_leaves_out_specials_and_shows_unknown(vocabulary):
    ids = vocabulary.encode(SENTENCES[0])
    assert vocabulary.decode([BOS_ID, *ids, EOS_ID, PAD_ID, PAD_ID]) == SENTENCES[0]
    assert "⁇" in vocabulary.decode([*ids, UNK_ID])


def test_decode_takes_numpy_ids(vocabulary):
    ids = vocabulary.encode(SENTENCES[1])
    assert vocabulary.decode(np.array(ids, np.uint16)) == SENTENCES[1]
    assert vocabulary.tokens(np.array(ids, np.int32)) == vocabulary.tokens(ids)


def test_an_id_outside_is_an_error(vocabulary):
    for id in (-1, vocabulary.size):
        for method in (vocabulary.decode, vocabulary.tokens):
            with pytest.raises(VocabularyError, match=rf"id {id} is outside the vocabulary of {vocabulary.size} piec"):
                method([5, id])


def test_encode_all_is_encode_of_each(vocabulary):
    assert vocabulary.encode_all([*SENTENCES, ""]) == [*map(vocabulary.encode, SENTENCES), []]


def test_save_and_load(vocabulary, tmp_path):
    path = tmp_path / "new" / "v.model"
    vocabulary.save(path)
    vocabulary.save(str(path))
    assert [file.name for file in path.parent.iterdir()] == ["v.model"]
    for loaded in (load_vocabulary(path), load_vocabulary(str(path)), vocabulary_from_bytes(vocabulary.to_bytes())):
        assert type(loaded) is type(vocabulary)
        assert loaded.to_bytes() == path.read_bytes()
        assert loaded.encode_all(SENTENCES) == vocabulary.encode_all(SENTENCES)
        assert loaded.fingerprint == hashlib.sha256(path.read_bytes()).hexdigest()


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


def test_kinds_differ(made):
    for one, other in permutations(made.values(), 2):
        assert one.fingerprint != other.fingerprint
        assert one.encode(SENTENCES[0]) != other.encode(SENTENCES[0])
    bpe = make_vocabulary("bpe", SIZES["unigram"], "", SENTENCES)
    assert bpe.tokens(range(bpe.size)) != made["unigram"].tokens(range(bpe.size))


def unreadable():
    raise AssertionError("read the sentences")
    yield


@pytest.mark.parametrize("kind", ["sentencepiece:v.model", "tensor2tensor:v.subwords"])
def test_files_that_hold_the_vocabulary_are_taken_as_they_are(folder, kind):
    made = make_vocabulary(kind, SIZES[kind], str(folder), unreadable())
    assert made.to_bytes() == (folder / kind.split(":")[1]).read_bytes()


@pytest.mark.parametrize("kind", [kind for kind in SIZES if ":" in kind])
def test_files_may_be_compressed_and_anywhere(made, folder, kind, monkeypatch):
    expected = made[kind].fingerprint
    name, path = kind.split(":")
    assert make_vocabulary(f"{kind}.gz", SIZES[kind], str(folder), SENTENCES).fingerprint == expected
    absolute = f"{name}:{folder / path}"
    assert make_vocabulary(absolute, SIZES[kind], "/elsewhere", SENTENCES).fingerprint == expected
    monkeypatch.setenv("HOME", str(folder))
    assert make_vocabulary(f"{name}:~/{path}", SIZES[kind], "", SENTENCES).fingerprint == expected
    monkeypatch.chdir(folder)
    assert make_vocabulary(kind, SIZES[kind], "", SENTENCES).fingerprint == expected


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("sentencepiece:v.model", r"sentencepiece:\S+/v\.model gives 31 pieces"),
        ("subword-nmt:codes", r"subword-nmt:\S+/codes and the training text give 24 pieces"),
        ("tensor2tensor:v.subwords", r"tensor2tensor:\S+/v\.subwords gives 40 pieces"),
    ],
)
def test_another_size_than_was_asked_is_an_error(folder, kind, message):
    with pytest.raises(VocabularyError, match=rf"^Data\.vocab_size = 32: {message}$"):
        make_vocabulary(kind, 32, str(folder), SENTENCES)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("sentencepiece:absent", r"absent: No such file or directory"),
        ("sentencepiece:.", r": Is a directory"),
        ("sentencepiece:codes", r"codes: not a SentencePiece model"),
        ("subword-nmt:v.subwords", r"v\.subwords: line 1: must be '#version: 0\.2', .*"),
        ("tensor2tensor:codes", r"codes: line 1: must be a subtoken in single quotes"),
        ("tensor2tensor:bad.gz", r"bad\.gz: damaged gzip file \(.*\)"),
        ("tensor2tensor:cut.gz", r"cut\.gz: damaged gzip file \(.*\)"),
        ("tensor2tensor:spoilt.gz", r"spoilt\.gz: damaged gzip file \(.*\)"),
    ],
)
def test_a_file_that_is_none_is_named(folder, kind, message):
    packed = (folder / "v.subwords.gz").read_bytes()
    (folder / "bad.gz").write_bytes(b"'<pad>'\n")
    (folder / "cut.gz").write_bytes(packed[:-20])
    (folder / "spoilt.gz").write_bytes(packed[:30] + bytes(byte ^ 255 for byte in packed[30:40]) + packed[40:])
    with pytest.raises(VocabularyError, match=rf"^vocabulary {folder}/?{message}$"):
        make_vocabulary(kind, 31, str(folder), SENTENCES)


def test_errors_of_the_text_are_not_the_files(folder):
    def broken():
        yield "the dog"
        raise OSError("text is gone")

    with pytest.raises(OSError, match=r"^text is gone$"):
        make_vocabulary("subword-nmt:codes", 24, str(folder), broken())


@pytest.mark.parametrize("cut", [0, 1, 2, 5, -10, -2])
@pytest.mark.parametrize("kind", ["bpe", "subword-nmt:codes", "tensor2tensor:v.subwords"])
def test_a_cut_file_is_one_clear_error(made, tmp_path, kind, cut):
    """But for a subword file that ends with a line: it is one of fewer pieces, which no checkpoint fits."""
    path = tmp_path / "v.model"
    path.write_bytes(made[kind].to_bytes()[:cut])
    with pytest.raises(VocabularyError, match=r"^vocabulary \S+/v\.model: [^\n]+$"):
        load_vocabulary(path)


@pytest.mark.parametrize("data", [b"", b"junk", b"\0" * 99])
def test_what_begins_like_no_kind_is_an_error(data):
    with pytest.raises(VocabularyError, match=r"^not a SentencePiece model$"):
        vocabulary_from_bytes(data)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(VocabularyError, match=r"^vocabulary \S+/absent\.model: No such file or directory$"):
        load_vocabulary(tmp_path / "absent.model")


def test_identities_differ_where_the_vocabulary_might(folder, tmp_path):
    kinds = [*SIZES, "tensor2tensor:codes"]
    identities = [vocabulary_identity(kind, str(folder)) for kind in kinds]
    for identity in identities:
        assert json.loads(json.dumps(identity)) == identity
    identities += [vocabulary_identity(kind, "", merge_across_scripts=True) for kind in ("bpe", "unigram")]
    assert len({json.dumps(identity) for identity in identities}) == len(kinds) + 2
    assert vocabulary_identity("subword-nmt:./codes", str(folder)) == vocabulary_identity(
        "subword-nmt:codes", str(folder)
    )
    merged = vocabulary_identity("subword-nmt:codes", str(folder), merge_across_scripts=True)
    assert merged == vocabulary_identity("subword-nmt:codes", str(folder)), "its pieces are what they are"
    path = tmp_path / "codes"
    seen = set()
    for text, time in (("a", 1), ("ab", 1), ("ab", 2)):
        path.write_text(text)
        os.utime(path, ns=(time, time))
        first, again = (vocabulary_identity("subword-nmt:codes", str(tmp_path)) for _ in range(2))
        assert first == again
        seen.add(json.dumps(first))
    assert len(seen) == 3


def test_an_identity_does_not_depend_on_where_a_command_is_run(folder, monkeypatch):
    expected = vocabulary_identity("subword-nmt:codes", str(folder))
    monkeypatch.chdir(folder.parent)
    assert vocabulary_identity("subword-nmt:codes", folder.name) == expected
    with pytest.raises(VocabularyError, match=r"^vocabulary \S+/absent: No such file"):
        vocabulary_identity("sentencepiece:absent", str(folder))


def test_identities_name_the_package_that_makes_the_vocabulary(monkeypatch, folder):
    monkeypatch.setattr("importlib.metadata.version", lambda package: f"version of {package}")
    last = {kind: vocabulary_identity(kind, str(folder))[-1] for kind in SIZES}
    assert last["bpe"] == last["unigram"] == "version of sentencepiece"
    assert last["subword-nmt:codes"] == "version of subword-nmt"
