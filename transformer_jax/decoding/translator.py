"""From lines of text to lines of text: one translation for each line, whatever the line."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.decoding.generate import Generator, Hypothesis
from transformer_jax.special_ids import EOS_ID


class Translation(NamedTuple):
    """Of one line."""

    source: list[int]  # the ids that were translated, the end token included
    hypotheses: list[Hypothesis]  # best first, at least one
    texts: list[str]  # of each hypothesis, without a line feed
    problems: list[str]  # what a person should know: the line was cut, the best hypothesis did not end

    @property
    def hypothesis(self) -> Hypothesis:
        """The best one."""
        return self.hypotheses[0]

    @property
    def text(self) -> str:
        """Of the best hypothesis."""
        return self.texts[0]


class Translator:
    """A model with its vocabulary."""

    def __init__(self, generator: Generator, vocabulary: Vocabulary):
        self._generator = generator
        self._vocabulary = vocabulary

    def translate(
        self,
        lines: Sequence[str],
        on_progress: Callable[[int], None] = lambda _: None,
        *,
        prefixes: Sequence[str] | None = None,
        first: int = 0,
        words: Sequence[Sequence[str]] | None = None,
    ) -> list[Translation]:
        """As many translations as lines, in order; a line of blanks gives an empty one, a line too long is cut.

        Args:
          on_progress: told how many are done.
          prefixes: what the translation of each line must begin with; one too long is cut.
          first: the number of the first line in the whole input, on which what is sampled depends.
          words: those of each line, which a search for trees asks for.
        """
        longest = self._generator.max_length - 1
        sources = self._vocabulary.encode_all(list(lines))
        beginnings = self._vocabulary.encode_all(list(prefixes)) if prefixes is not None else [[] for _ in sources]
        cut = [[*ids[:longest], EOS_ID] for ids in sources]
        forced = [ids[:longest] for ids in beginnings]
        found = self._generator.generate(cut, on_progress, prefixes=forced, first=first, words=words)
        told = (
            _problems(len(source), len(beginning), longest, best)
            for source, beginning, (best, *_) in zip(sources, beginnings, found, strict=True)
        )
        return [Translation(ids, own, self._texts(own), tell) for ids, own, tell in zip(cut, found, told, strict=True)]

    def _texts(self, hypotheses: list[Hypothesis]) -> list[str]:
        return [self._vocabulary.decode(hypothesis.ids).replace("\n", " ") for hypothesis in hypotheses]


def _problems(source: int, prefix: int, longest: int, best: Hypothesis) -> list[str]:
    problems = []
    if source > longest:
        problems.append(f"has {source} tokens: only the first {longest} were translated")
    if prefix > longest:
        problems.append(f"has a prefix of {prefix} tokens: only the first {longest} were used")
    if not best.finished:
        problems.append(f"its translation was cut off at {len(best.ids)} tokens")
    return problems
