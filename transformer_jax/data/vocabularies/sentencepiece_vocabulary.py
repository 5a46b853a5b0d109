"""Byte-pair and unigram pieces, learned and applied by SentencePiece.

The paper encodes English-German with byte-pair encoding and one shared vocabulary of about 37,000 tokens, section 5.1.
This file fixes the special ids and turns SentencePiece's failures into clear errors.
"""

import io
import re
import typing
from collections.abc import Iterable

import sentencepiece

from transformer_jax.data.vocabularies.base import Vocabulary, VocabularyError
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID, UNK_ID

Learned = typing.Literal["bpe", "unigram"]

# The largest value SentencePiece accepts. Its default of 4192 bytes drops longer lines without a word.
_MAX_SENTENCE_BYTES = 2**30
_OWN_MARK = "▅"  # SentencePiece drops a line that holds it


class SentencePieceVocabulary(Vocabulary):
    """Ids round-trip to the text exactly, up to SentencePiece's normalisation (NFKC, spaces). Its bytes are the model.

    Raises:
        VocabularyError: `data` is no SentencePiece model, or one with other special ids.
    """

    def __init__(self, data: bytes):
        super().__init__(data)
        try:
            # An empty string passes for a model in SentencePiece, which then answers every call with 0.
            if not data:
                raise RuntimeError
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=data)
        except RuntimeError as error:
            raise VocabularyError("not a SentencePiece model") from error
        found = tuple(getattr(self._processor, f"{name}_id")() for name in ("pad", "bos", "eos", "unk"))
        if found != (PAD_ID, BOS_ID, EOS_ID, UNK_ID):
            raise VocabularyError(f"pad, bos, eos, unk have the ids {found}: must be 0, 1, 2, 3")

    @property
    def size(self) -> int:
        return self._processor.get_piece_size()

    def encode(self, text: str) -> list[int]:
        return self._processor.encode(text)

    def encode_all(self, texts: list[str]) -> list[list[int]]:
        return self._processor.encode(texts, num_threads=1)

    def normalize(self, text: str) -> str:
        return self._processor.normalize(text).replace("▁", " ").removeprefix(" ")

    def _text(self, ids: list[int]) -> str:
        return self._processor.decode(ids)

    def _token(self, id: int) -> str:
        return self._processor.id_to_piece(id)


def learn_vocabulary(
    sentences: Iterable[str], vocab_size: int, kind: Learned = "bpe", *, merge_across_scripts: bool = False
) -> SentencePieceVocabulary:
    """Exactly `vocab_size` pieces, every character covered; the same text, the same vocabulary.

    No piece has characters of two scripts, letters and punctuation say, unless they may be merged: "/NP" is two pieces
    at least, or one.

    Two characters are not: NUL, which SentencePiece skips, and U+2585, its own mark. They encode as unknown.

    Raises:
        VocabularyError: the text supports fewer pieces, or needs more for its characters alone; says the limit.
    """
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=(sentence.replace(_OWN_MARK, " ") for sentence in sentences),
            model_writer=model,
            model_type=kind,
            vocab_size=vocab_size,
            character_coverage=1.0,
            max_sentence_length=_MAX_SENTENCE_BYTES,
            split_by_unicode_script=not merge_across_scripts,
            pad_id=PAD_ID,
            bos_id=BOS_ID,
            eos_id=EOS_ID,
            unk_id=UNK_ID,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise VocabularyError(_explain(str(error), vocab_size)) from error
    return _of_size(SentencePieceVocabulary(model.getvalue()), vocab_size)


def _of_size(vocabulary: SentencePieceVocabulary, vocab_size: int) -> SentencePieceVocabulary:
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
    if "sentences_.empty()" in message or "all_chars_count" in message:
        return "a vocabulary cannot be learned from no text"
    return f"vocab_size = {vocab_size}: SentencePiece cannot learn the vocabulary: {message.strip()}"
