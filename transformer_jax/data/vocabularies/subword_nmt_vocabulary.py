"""Byte-pair merges that subword-nmt learned, applied to text that is divided into words already.

Words are what single spaces (U+0020) divide, as in subword-nmt; any other white space belongs to a word. A piece that
another of the same word follows ends in "@@".
"""

import io
import json
from collections import Counter
from collections.abc import Iterable

from subword_nmt.apply_bpe import BPE

from transformer_jax.data.vocabularies.base import SPECIAL_TOKENS, UNKNOWN, Vocabulary, VocabularyError
from transformer_jax.special_ids import UNK_ID

_CONTINUED = "@@"
_CACHED_WORDS = 200_000  # subword-nmt remembers every word that it ever split: too much for a large corpus


class SubwordNmtVocabulary(Vocabulary):
    """Its bytes hold merges and pieces as JSON, so that the file of merges is needed no more.

    Raises:
        VocabularyError: `data` is no such JSON.
    """

    def __init__(self, data: bytes):
        super().__init__(data)
        codes, pieces = _parse(data)
        self._bpe = _splitter(codes)
        self._pieces = [*SPECIAL_TOKENS, *pieces]
        self._ids = {piece: id for id, piece in enumerate(pieces, start=len(SPECIAL_TOKENS))}

    @property
    def size(self) -> int:
        return len(self._pieces)

    def encode(self, text: str) -> list[int]:
        return [self._ids.get(piece, UNK_ID) for piece in _split(self._bpe, text)]

    def normalize(self, text: str) -> str:
        return _join(_split(self._bpe, text))

    def _text(self, ids: list[int]) -> str:
        return _join([UNKNOWN if id == UNK_ID else self._pieces[id] for id in ids])

    def _token(self, id: int) -> str:
        return self._pieces[id]


def read_codes(data: bytes) -> list[str]:
    """The lines of a subword-nmt file, version 0.2: a header, then a merge a line, in order.

    Raises:
        VocabularyError: `data` is no such file; names the line.
    """
    try:
        codes = data.decode("utf-8").rstrip("\n").split("\n")
    except UnicodeDecodeError as error:
        raise VocabularyError(f"not UTF-8 ({error.reason})") from error
    _check(codes)
    return codes


def count_vocabulary(codes: list[str], sentences: Iterable[str]) -> SubwordNmtVocabulary:
    """All pieces of `sentences` as `codes` splits them, the most frequent first, then by code point.

    Args:
        codes: as `read_codes` gives them.
        sentences: their words divided by single spaces.
    """
    bpe = _splitter(codes)
    counts = Counter(piece for sentence in sentences for piece in _split(bpe, sentence))
    pieces = sorted(counts, key=lambda piece: (-counts[piece], piece))
    saved = {"kind": "subword-nmt", "codes": codes, "pieces": pieces}
    return SubwordNmtVocabulary(json.dumps(saved, ensure_ascii=False, indent=0).encode())


def _parse(data: bytes) -> tuple[list[str], list[str]]:
    try:
        saved = json.loads(data)
        codes, pieces = saved["codes"], saved["pieces"]
        if not all(isinstance(text, str) for text in [*codes, *pieces]):
            raise TypeError
    except (ValueError, KeyError, TypeError) as error:
        raise VocabularyError("not a saved subword-nmt vocabulary") from error
    _check(codes)
    return codes, pieces


def _check(codes: list[str]) -> None:
    """Finds what subword-nmt answers by ending the process."""
    if not codes or codes[0].split() != ["#version:", "0.2"]:
        raise VocabularyError("line 1: must be '#version: 0.2', the header of subword-nmt's merges")
    for number, line in enumerate(codes[1:] or [""], start=2):
        if len(line.strip("\r\n ").split(" ")) != 2:
            raise VocabularyError(f"line {number}: must be a merge, two pieces with a space between them")


def _splitter(codes: list[str]) -> BPE:
    return BPE(io.StringIO("\n".join(codes)), separator=_CONTINUED)


def _split(bpe: BPE, text: str) -> list[str]:
    if len(bpe.cache) > _CACHED_WORDS:
        bpe.cache.clear()
    return bpe.segment_tokens(text.strip("\r\n ").split(" "))


def _join(pieces: list[str]) -> str:
    return " ".join([*pieces, ""]).replace(f"{_CONTINUED} ", "").removesuffix(" ")
