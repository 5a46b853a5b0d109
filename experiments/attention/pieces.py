"""Pieces of a vocabulary as people read them, whatever the kind of vocabulary."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from transformer_jax.analysis.piece_spans import Span, piece_spans
from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID, UNK_ID

Kind = Literal["start", "part", "special"]
CONTINUES = "·"  # stands before a piece that goes on with a word
_BLANK = "␣"  # a piece that is a blank and nothing else


class Piece(NamedTuple):
    """One token."""

    text: str
    kind: Kind  # a word's start or whole, a later part of a word, or no text at all

    @property
    def label(self) -> str:
        return CONTINUES + self.text if self.kind == "part" else self.text


def pieces(vocabulary: Vocabulary, ids: Sequence[int], text: str | None = None) -> list[Piece]:
    """The pieces of ids; with the text that they encode, characters that the vocabulary lacks are shown too."""
    decoded, spans = vocabulary.decode(ids), piece_spans(vocabulary, ids)
    if text is not None and UNK_ID in ids:
        normalized = vocabulary.normalize(text)
        parts = [None if id == UNK_ID else decoded[slice(*span)] for id, span in zip(ids, spans, strict=True)]
        if (found := _spans_in(normalized, parts)) is not None:
            decoded, spans = normalized, found
    tokens = vocabulary.tokens(ids)
    return [_piece(*each, decoded) for each in zip(ids, tokens, spans, strict=True)]


def _piece(id: int, token: str, span: Span, text: str) -> Piece:
    start, end = span
    if id in (PAD_ID, BOS_ID, EOS_ID):
        return Piece(token, "special")
    if start == end:
        return Piece(_BLANK, "start")
    return Piece(text[start:end], "start" if start == 0 or text[start - 1].isspace() else "part")


def _spans_in(text: str, parts: Sequence[str | None]) -> list[Span] | None:
    """Where known parts stand in `text`, and unknown ones, None, between them; None if it is not made of these.

    No part has a blank, and an unknown one ends where the next known one begins.
    """
    spans, at = [], 0
    for i, part in enumerate(parts):
        start = at + len(text[at:]) - len(text[at:].lstrip()) if part != "" else at
        if part is None:
            word = text[start:].split(maxsplit=1)[:1]
            following = next((other for other in parts[i + 1 :] if other), None)
            at = start + len(word[0].split(following)[0] if following else word[0]) if word else start
        elif text.startswith(part, start):
            at = start + len(part)
        else:
            return None
        if part != "" and at == start:
            return None
        spans.append((start, at))
    return spans if not text[at:].strip() else None
