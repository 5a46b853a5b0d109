"""How a translation is written: as text, in columns before it, or as a JSON line."""

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.decoding.alignments import Links
from transformer_jax.decoding.generate import Hypothesis
from transformer_jax.decoding.translator import Translation


class Translated(NamedTuple):
    """A line and what is wanted of its translations."""

    number: int  # of the line, from 1
    line: str
    translation: Translation
    links: list[Links | None]  # of each hypothesis; None: not asked for


class Format(Protocol):
    def __call__(self, translated: Translated) -> Iterator[str]:
        """What is written for a line, without line ends."""


def in_columns(*, numbers: bool, scores: bool, log_probs: bool) -> Format:
    """A row for each hypothesis: number, score, log-probability, links if there are any; the text is the last column.

    So a tab in the text is no column's end, if a reader knows how many there are.
    """

    def rows(translated: Translated) -> Iterator[str]:
        _, hypotheses, texts, _ = translated.translation
        for hypothesis, text, links in zip(hypotheses, texts, translated.links, strict=True):
            columns = [
                *([str(translated.number)] if numbers else []),
                *([f"{hypothesis.score:.6f}"] if scores else []),
                *([f"{hypothesis.log_prob:.6f}"] if log_probs else []),
                *([" ".join(f"{source}-{target}" for source, target in links)] if links is not None else []),
                text,
            ]
            yield "\t".join(columns)

    return rows


def as_json(vocabulary: Vocabulary) -> Format:
    """An object for each line. Tokens are without the end token, as links count them."""

    def fields(hypothesis: Hypothesis, text: str, links: Links | None) -> dict[str, Any]:
        return {
            "text": text,
            "score": _number(hypothesis.score),
            "log_prob": _number(hypothesis.log_prob),
            "tokens": vocabulary.tokens(hypothesis.ids),
            "finished": hypothesis.finished,
            **({"alignment": links} if links is not None else {}),
        }

    def rows(translated: Translated) -> Iterator[str]:
        source, hypotheses, texts, problems = translated.translation
        row = {
            "line": translated.number,
            "source": translated.line,
            "source_tokens": vocabulary.tokens(source[:-1]),
            "translations": list(map(fields, hypotheses, texts, translated.links)),
            "problems": problems,
        }
        yield json.dumps(row, ensure_ascii=False, allow_nan=False)

    return rows


def _number(value: float) -> float | None:
    """JSON has no infinity: where the search found nothing, there is no score."""
    return round(value, 6) if math.isfinite(value) else None
