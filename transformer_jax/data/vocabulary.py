"""One vocabulary of subword pieces for both languages, section 5.1.

The paper encodes English-German with byte-pair encoding and one shared vocabulary of about 37,000 tokens. SentencePiece
learns and applies it here; this file fixes the special ids and turns SentencePiece's failures into clear errors.
"""

import functools
import hashlib
import io
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import sentencepiece
from jaxtyping import Integer

from transformer_jax.errors import UserError
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID, UNK_ID

# The largest value SentencePiece accepts. Its default of 4192 bytes drops longer lines without a word.
_MAX_SENTENCE_BYTES = 2**30


Ids = Iterable[int] | Integer[np.ndarray, " length"]


class VocabularyError(UserError):
    """A vocabulary that cannot be learned or read: the message says why, in one line."""


class Vocabulary:
    """Text to ids and back. Ids round-trip to the text exactly, up to SentencePiece's normalisation (NFKC, spaces).

    Raises:
        VocabularyError: `model_bytes` is no SentencePiece model, or one with other special ids.
    """

    def __init__(self, model_bytes: bytes):
        self.model_bytes = model_bytes
        try:
            # An empty string passes for a model in SentencePiece, which then answers every call with 0.
            if not model_bytes:
                raise RuntimeError
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=model_bytes)
        except RuntimeError as error:
            raise VocabularyError("not a SentencePiece model") from error
        found = tuple(getattr(self._processor, f"{name}_id")() for name in ("pad", "bos", "eos", "unk"))
        if found != (PAD_ID, BOS_ID, EOS_ID, UNK_ID):
            raise VocabularyError(f"pad, bos, eos, unk have the ids {found}: must be 0, 1, 2, 3")

    @property
    def size(self) -> int:
        """The number of pieces, special ones included."""
        return self._processor.get_piece_size()

    @functools.cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the model, in hexadecimal: equal fingerprints, equal ids."""
        return hashlib.sha256(self.model_bytes).hexdigest()

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, without an end token."""
        return self._processor.encode(text)

    def encode_all(self, texts: list[str]) -> list[list[int]]:
        """`encode` of each text, on all cores."""
        return self._processor.encode(texts)

    def decode(self, ids: Ids) -> str:
        """The text of `ids`; pad, begin and end tokens are left out.

        Raises:
            VocabularyError: an id is outside the vocabulary.
        """
        return self._processor.decode([id for id in self._checked(ids) if id not in (PAD_ID, BOS_ID, EOS_ID)])

    def tokens(self, ids: Ids) -> list[str]:
        """The piece of each id, special ones included.

        Raises:
            VocabularyError: an id is outside the vocabulary.
        """
        return self._processor.id_to_piece(self._checked(ids))

    def normalize(self, text: str) -> str:
        """`text` as `decode(encode(text))` gives it back when no piece is unknown."""
        return self._processor.normalize(text).replace("▁", " ").removeprefix(" ")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the SentencePiece model; `path` is never half-written."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                file.write(self.model_bytes)
                file.close()
                os.chmod(file.name, 0o644)  # temporary files are the owner's alone
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Vocabulary":
        """Raises VocabularyError if the file is missing or no model of ours."""
        try:
            return cls(Path(path).read_bytes())
        except (OSError, VocabularyError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise VocabularyError(f"vocabulary {os.fspath(path)}: {reason}") from error

    def _checked(self, ids: Ids) -> list[int]:
        ids, size = [int(id) for id in ids], self.size
        for id in ids:
            if not 0 <= id < size:
                raise VocabularyError(f"id {id} is outside the vocabulary of {size} pieces")
        return ids


def learn_vocabulary(sentences: Iterable[str], vocab_size: int) -> Vocabulary:
    """Byte-pair encoding with exactly `vocab_size` pieces, every character covered; the same text, the same vocabulary.

    Raises:
        VocabularyError: the text supports fewer pieces, or needs more for its characters alone; says the limit.
    """
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            # A tab is SentencePiece's own mark: it would drop the line. Normalisation makes it a space anyway.
            sentence_iterator=(sentence.replace("\t", " ") for sentence in sentences),
            model_writer=model,
            model_type="bpe",
            vocab_size=vocab_size,
            character_coverage=1.0,
            max_sentence_length=_MAX_SENTENCE_BYTES,
            pad_id=PAD_ID,
            bos_id=BOS_ID,
            eos_id=EOS_ID,
            unk_id=UNK_ID,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise VocabularyError(_explain(str(error), vocab_size)) from error
    return _of_size(Vocabulary(model.getvalue()), vocab_size)


def _of_size(vocabulary: Vocabulary, vocab_size: int) -> Vocabulary:
    if vocabulary.size != vocab_size:
        raise VocabularyError(f"vocab_size = {vocab_size}: the training text gives {vocabulary.size} pieces")
    return vocabulary


def _explain(message: str, vocab_size: int) -> str:
    if too_high := re.search(r"value <= (\d+)", message):
        return f"vocab_size = {vocab_size}: the training text supports at most {too_high[1]} pieces"
    if too_low := re.search(r"\d+ vs (\d+)", message):
        return (
            f"vocab_size = {vocab_size}: must be at least {too_low[1]}, one piece for each character and special token"
        )
    if "sentences_.empty()" in message:
        return "a vocabulary cannot be learned from no text"
    return f"vocab_size = {vocab_size}: SentencePiece cannot learn the vocabulary: {message.strip()}"
