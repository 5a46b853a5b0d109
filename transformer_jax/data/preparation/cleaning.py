"""Which pairs of a training corpus are left out, and how many each rule left out: every pair read is accounted for."""

import hashlib
from dataclasses import dataclass, fields

from transformer_jax.config import Cleaning

RULES = tuple(field.name for field in fields(Cleaning))


@dataclass
class Report:
    """Pairs read, pairs kept, and pairs that each rule left out."""

    read: int
    removed: dict[str, int]

    @property
    def kept(self) -> int:
        return self.read - sum(self.removed.values())


def broken_rule(source: str, target: str, cleaning: Cleaning) -> str | None:
    """The first rule that the pair breaks; `duplicate`, which takes knowing all the others, is not looked at here."""
    words, others = len(source.split()), len(target.split())
    if cleaning.empty and not (words and others):
        return "empty"
    if cleaning.identical and source == target:
        return "identical"
    if cleaning.max_words is not None and max(words, others) > cleaning.max_words:
        return "max_words"
    ratio = cleaning.max_length_ratio
    if ratio is not None and max(words, others) > ratio * min(words, others):
        return "max_length_ratio"
    return None


def digest(source: str, target: str) -> bytes:
    """16 bytes that two pairs share only if they are the same pair (0xFF is in no UTF-8 text)."""
    return hashlib.blake2b(source.encode() + b"\xff" + target.encode(), digest_size=16).digest()
