"""What every kind of vocabulary can do: one of subword pieces for both languages, section 5.1."""

import abc
import functools
import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from jaxtyping import Integer

from transformer_jax.errors import UserError
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID

Ids = Iterable[int] | Integer[np.ndarray, " length"]

SPECIAL_TOKENS = ("<pad>", "<s>", "</s>", "<unk>")  # by id; text that reads like one has the ids of any other text
UNKNOWN = "⁇"  # what decoded text shows for UNK_ID, as SentencePiece does


class VocabularyError(UserError):
    """A vocabulary that cannot be learned or read: the message says why, in one line."""


class Vocabulary(abc.ABC):
    """Text to ids and back. A vocabulary is its bytes as saved: equal bytes, equal ids.

    Raises:
        VocabularyError: `data` is no vocabulary of this kind.
    """

    def __init__(self, data: bytes):
        self._data = data

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """The number of pieces, special ones included."""

    @abc.abstractmethod
    def encode(self, text: str) -> list[int]:
        """The ids of `text`, without an end token."""

    @abc.abstractmethod
    def normalize(self, text: str) -> str:
        """`text` as `decode(encode(text))` gives it back when no piece is unknown."""

    @abc.abstractmethod
    def _text(self, ids: list[int]) -> str:
        """The text of ids that the vocabulary holds, pad, begin and end left out."""

    @abc.abstractmethod
    def _token(self, id: int) -> str: ...

    def encode_all(self, texts: list[str]) -> list[list[int]]:
        """`encode` of each text, on one core: whoever has more of them starts more processes."""
        return [self.encode(text) for text in texts]

    def decode(self, ids: Ids) -> str:
        """The text of `ids`; pad, begin and end tokens are left out.

        Raises:
            VocabularyError: an id is outside the vocabulary.
        """
        return self._text([id for id in self._checked(ids) if id not in (PAD_ID, BOS_ID, EOS_ID)])

    def tokens(self, ids: Ids) -> list[str]:
        """The piece of each id, special ones included.

        Raises:
            VocabularyError: an id is outside the vocabulary.
        """
        return [self._token(id) for id in self._checked(ids)]

    def to_bytes(self) -> bytes:
        """All of the vocabulary: `vocabulary_from_bytes` makes the same one again."""
        return self._data

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the bytes, in hexadecimal: equal fingerprints, equal ids."""
        return hashlib.sha256(self._data).hexdigest()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the bytes; `path` is never half-written."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                file.write(self._data)
                file.close()
                os.chmod(file.name, 0o644)  # temporary files are the owner's alone
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise

    def _checked(self, ids: Ids) -> list[int]:
        ids, size = [int(id) for id in ids], self.size
        for id in ids:
            if not 0 <= id < size:
                raise VocabularyError(f"id {id} is outside the vocabulary of {size} pieces")
        return ids
