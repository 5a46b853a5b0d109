"""From lines of text to lines of text: one translation for each line, whatever the line."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.decoding.generate import Generator, Hypothesis
from transformer_jax.special_ids import EOS_ID


class Translation(NamedTuple):
    """Of one line."""

    text: str
    hypothesis: Hypothesis
    problems: list[str]  # what a person should know: the line was cut, the translation did not end


class Translator:
    """A model with its vocabulary."""

    def __init__(self, generator: Generator, vocabulary: Vocabulary):
        self._generator = generator
        self._vocabulary = vocabulary

    def translate(self, lines: Sequence[str], on_progress: Callable[[int], None] = lambda _: None) -> list[Translation]:
        """As many translations as lines, in order; a line of blanks gives an empty one, a line too long is cut."""
        encoded = self._vocabulary.encode_all(list(lines))
        longest = self._generator.max_length - 1
        sources = [[*ids[:longest], EOS_ID] for ids in encoded]
        hypotheses = self._generator.generate(sources, on_progress)
        return [
            Translation(self._vocabulary.decode(best.ids), best, self._problems(len(ids), longest, best))
            for ids, best in zip(encoded, hypotheses, strict=True)
        ]

    def _problems(self, length: int, longest: int, best: Hypothesis) -> list[str]:
        problems = []
        if length > longest:
            problems.append(f"has {length} tokens: only the first {longest} were translated")
        if not best.finished:
            problems.append(f"its translation was cut off at {len(best.ids)} tokens")
        return problems
