"""The sentences on which two runs differ most, to be read: by sentence chrF2, which also tells apart translations that
share no 4-gram with the reference, where sentence BLEU is mostly smoothing."""

from collections.abc import Sequence
from typing import NamedTuple

from sacrebleu.metrics import CHRF

from transformer_jax.data.corpus import Corpus


class SentenceScores(NamedTuple):
    """The chrF2 of both translations of one sentence."""

    place: int  # from 0
    a: float
    b: float


def most_different(
    a: Sequence[str], b: Sequence[str], references: Sequence[str], *, count: int
) -> list[SentenceScores]:
    """At most `count` of the sentences that are not translated alike, the largest difference first."""
    metric = CHRF()
    found = [
        SentenceScores(place, *(metric.sentence_score(translation, [reference]).score for translation in pair))
        for place, (*pair, reference) in enumerate(zip(a, b, references, strict=True))
        if pair[0] != pair[1]
    ]
    return sorted(found, key=lambda scores: -abs(scores.b - scores.a))[:count]


def sentences_section(a: Sequence[str], b: Sequence[str], corpus: Corpus, *, count: int = 10) -> str:
    """As Markdown: source, reference and both translations of each, as they are."""
    differing = sum(one != other for one, other in zip(a, b, strict=True))
    chosen = most_different(a, b, corpus.targets, count=count)
    head = (
        f"{differing:,} of {len(corpus):,} are translated differently; the {len(chosen)} that differ most in chrF2:\n"
    )
    return "\n".join([head, *(_block(scores, a, b, corpus) for scores in chosen)])


def _block(scores: SentenceScores, a: Sequence[str], b: Sequence[str], corpus: Corpus) -> str:
    place, difference = scores.place, scores.b - scores.a
    text = {"source": corpus.sources, "reference": corpus.targets, "A": a, "B": b}
    lines = "".join(f"{name:9}  {side[place]}".rstrip() + "\n" for name, side in text.items())
    title = f"line {place + 1}: chrF2 {scores.a:.1f} and {scores.b:.1f}, B − A {difference:+z.1f}"
    return f"{title}\n```text\n{lines}```\n"
