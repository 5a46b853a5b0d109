r"""The subword files of Tensor2Tensor, the paper's own code: every text has ids, and they give it back exactly.

Text is divided where letters or numbers meet other characters; a single space between two runs of letters is left out,
as it is implied. In each run "\" becomes "\\", "_" becomes "\u", and a character outside the file's alphabet "\", its
code point and ";". With "_" put to its end, the run is taken apart from the left by the longest subtoken that fits.
"""

import functools
import re
import sys

from transformer_jax.data.vocabularies.base import SPECIAL_TOKENS, UNKNOWN, Vocabulary, VocabularyError
from transformer_jax.special_ids import UNK_ID

_RESERVED = ["<pad>", "<EOS>"]  # the file's first two: ids 0 and 1 there, PAD_ID and EOS_ID here
_RUN = re.compile(r"[^\W_]+|[\W_]+")  # for `re` a word is of Unicode's letters (L), numbers (N) and "_"
_ESCAPE = re.compile(r"\\(?:u|\\|([0-9]+);)")
_ESCAPE_CHARACTERS = "\\_u;0123456789"
_NO_CHARACTER = "〓"  # what Tensor2Tensor shows for a code point that is none
_CACHED_RUNS = 2**17


class Tensor2TensorVocabulary(Vocabulary):
    """Its bytes are the file: a subtoken a line, in single quotes. Entry i >= 2 of the file has the id i + 2 here.

    The alphabet is all characters of subtokens, with those of the escapes. BOS_ID and UNK_ID stand for no text.

    Raises:
        VocabularyError: `data` is no such file, or one that cannot spell a character of its alphabet.
    """

    def __init__(self, data: bytes):
        super().__init__(data)
        subtokens = _parse(data)
        self._pieces = [*SPECIAL_TOKENS, *subtokens[len(_RESERVED) :]]
        self._ids = {piece: id for id, piece in enumerate(self._pieces)}  # no run of text has letters and "<"
        self._longest = max(map(len, self._ids))
        self._alphabet = set(_ESCAPE_CHARACTERS).union(*subtokens)
        if unspelt := sorted(self._alphabet - self._ids.keys()):
            raise VocabularyError(f"the character {unspelt[0]!r} is no subtoken: must be, as every text must have ids")
        self._run_ids = functools.lru_cache(_CACHED_RUNS)(self._encode_run)

    @property
    def size(self) -> int:
        return len(self._pieces)

    def encode(self, text: str) -> list[int]:
        return [id for run in split_into_runs(text) for id in self._run_ids(run)]

    def normalize(self, text: str) -> str:
        return text

    def _text(self, ids: list[int]) -> str:
        escaped = "".join(UNKNOWN if id == UNK_ID else self._pieces[id] for id in ids)
        return _join([run for part in escaped.split("_") if (run := _ESCAPE.sub(_unescaped, part))])

    def _token(self, id: int) -> str:
        return self._pieces[id]

    def _encode_run(self, run: str) -> tuple[int, ...]:
        escaped = "".join(map(self._escaped, run)) + "_"
        ids, start = [], 0
        while start < len(escaped):
            ends = range(min(len(escaped), start + self._longest), start, -1)
            end = next(end for end in ends if escaped[start:end] in self._ids)
            ids.append(self._ids[escaped[start:end]])
            start = end
        return tuple(ids)

    def _escaped(self, character: str) -> str:
        if character in "\\_":
            return "\\\\" if character == "\\" else "\\u"
        return character if character in self._alphabet else f"\\{ord(character)};"


def split_into_runs(text: str) -> list[str]:
    """Runs of letters and numbers, and those of other characters between them, but for the implied spaces."""
    runs = _RUN.findall(text)
    return [run for i, run in enumerate(runs) if run != " " or i in (0, len(runs) - 1)]


def _parse(data: bytes) -> list[str]:
    try:
        lines = data.decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise VocabularyError(f"not UTF-8 ({error.reason})") from error
    for number, line in enumerate(lines, start=1):
        if len(line) < 2 or line[0] != "'" or line[-1] != "'":
            raise VocabularyError(f"line {number}: must be a subtoken in single quotes")
    subtokens = [line[1:-1] for line in lines]
    if subtokens[: len(_RESERVED)] != _RESERVED:
        raise VocabularyError("lines 1 and 2: must be '<pad>' and '<EOS>'")
    return subtokens


def _join(runs: list[str]) -> str:
    """Puts the implied spaces back. A run of mixed characters, which no text encodes to, counts as its first one."""
    pairs = zip(["", *runs], runs, strict=False)
    return "".join(f" {run}" if before[:1].isalnum() and run[0].isalnum() else run for before, run in pairs)


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1] is None:
        return "_" if escape[0] == "\\u" else "\\"
    code_point = int(escape[1]) if len(escape[1]) < 9 else sys.maxunicode + 1
    is_character = code_point <= sys.maxunicode and not 0xD800 <= code_point <= 0xDFFF
    return chr(code_point) if is_character else _NO_CHARACTER
