"""The one vocabulary of both languages: made as the config says, or read from a run."""

import contextlib
import gzip
import importlib.metadata
import os
import typing
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from transformer_jax.config import LEARNED_VOCABULARIES
from transformer_jax.data.vocabularies.base import Vocabulary, VocabularyError
from transformer_jax.data.vocabularies.sentencepiece_vocabulary import (
    Learned,
    SentencePieceVocabulary,
    learn_vocabulary,
)
from transformer_jax.data.vocabularies.subword_nmt_vocabulary import (
    SubwordNmtVocabulary,
    count_vocabulary,
    read_codes,
)
from transformer_jax.data.vocabularies.tensor2tensor_vocabulary import Tensor2TensorVocabulary

# What a vocabulary depends on beside text and files.
_PACKAGES = {"bpe": "sentencepiece", "unigram": "sentencepiece", "subword-nmt": "subword-nmt"}
# A SentencePiece model, whose first byte is a line feed, is everything else.
_KINDS: dict[bytes, type[Vocabulary]] = {b"{": SubwordNmtVocabulary, b"'": Tensor2TensorVocabulary}
_READ_AS_IS: dict[str, type[Vocabulary]] = {
    "sentencepiece": SentencePieceVocabulary,
    "tensor2tensor": Tensor2TensorVocabulary,
}


def make_vocabulary(
    kind: str, vocab_size: int, directory: str, sentences: Iterable[str], *, merge_across_scripts: bool = False
) -> Vocabulary:
    """The vocabulary that `Data.vocabulary` names.

    Args:
        kind: "bpe" or "unigram", learned from `sentences`; or an existing file: "sentencepiece:PATH", a model;
            "tensor2tensor:PATH", a subword file; "subword-nmt:PATH", merges, whose pieces are those of `sentences`.
            A file that ends in .gz is compressed.
        vocab_size: the pieces that it must have, special ones included.
        directory: where a relative PATH starts; "" is the current directory.
        sentences: the training text; read by the kinds above that need it, and by no other.
        merge_across_scripts: see `learn_vocabulary`; a vocabulary that exists is as it is.

    Raises:
        VocabularyError: the file cannot be read, or there would be more or fewer pieces.
    """
    if kind in LEARNED_VOCABULARIES:
        learned = typing.cast(Learned, kind)
        return learn_vocabulary(sentences, vocab_size, learned, merge_across_scripts=merge_across_scripts)
    name, _, file = kind.partition(":")
    path = _resolve(directory, file)
    vocabulary = _from_file(name, path, sentences)
    if vocabulary.size != vocab_size:
        given = "and the training text give" if name == "subword-nmt" else "gives"
        raise VocabularyError(f"Data.vocab_size = {vocab_size}: {name}:{path} {given} {vocabulary.size} pieces")
    return vocabulary


def vocabulary_identity(kind: str, directory: str, *, merge_across_scripts: bool = False) -> list[str | int]:
    """What must be the same, with the text and the size, for `make_vocabulary` to make the same; fit for JSON.

    Raises:
        VocabularyError: the file that `kind` names is not there.
    """
    name, _, file = kind.partition(":")
    identity: list[str | int] = [name]
    if file:
        path = _resolve(directory, file)
        with _naming(path):
            status = path.stat()
        identity += [str(path.resolve()), status.st_size, status.st_mtime_ns]
    if merge_across_scripts and not file:
        identity.append("merge_across_scripts")
    if package := _PACKAGES.get(name):
        identity += [package, importlib.metadata.version(package)]
    return identity


def load_vocabulary(path: str | os.PathLike[str]) -> Vocabulary:
    """What `Vocabulary.save` wrote; raises VocabularyError if the file is missing or none of ours."""
    with _naming(Path(path)):
        return vocabulary_from_bytes(Path(path).read_bytes())


def vocabulary_from_bytes(data: bytes) -> Vocabulary:
    """The inverse of `Vocabulary.to_bytes`: its beginning tells the kind.

    Raises:
        VocabularyError: `data` is no vocabulary.
    """
    return _KINDS.get(data[:1], SentencePieceVocabulary)(data)


def _resolve(directory: str, path: str) -> Path:
    return Path(directory).expanduser() / Path(path).expanduser()


def _from_file(name: str, path: Path, sentences: Iterable[str]) -> Vocabulary:
    with _naming(path):
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
        if name != "subword-nmt":
            return _READ_AS_IS[name](data)
        codes = read_codes(data)
    return count_vocabulary(codes, sentences)


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Makes what is wrong with a file one line that names it."""
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise VocabularyError(f"vocabulary {path}: damaged gzip file ({error})") from error
    except (OSError, VocabularyError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise VocabularyError(f"vocabulary {path}: {reason}") from error
