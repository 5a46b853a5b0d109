"""Are a run's translations too short or too long, and for which sentences? A wrong length costs BLEU by itself."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Int

from experiments.comparison.scored_text import ScoredText, TextsOfSplit
from experiments.markdown import table


def lengths_section(scored: Sequence[ScoredText], texts: TextsOfSplit) -> str:
    """Lengths as BLEU's tokeniser counts them, as Markdown; a column a run."""
    everything = np.ones(len(texts.corpus), bool)
    rows = [
        ["mean length of a translation, in tokens", *(f"{_hypothesis(text).mean():.2f}" for text in scored)],
        ["length, divided by the references'", *(_ratio(text, everything) for text in scored)],
        *([f"of sources of {name}", *(_ratio(text, chosen) for text in scored)] for name, chosen in buckets(texts)),
        ["translations cut off at the limit", *(f"{text.cut_off:,}" for text in scored)],
        ["empty translations", *(f"{_empty(text):,}" for text in scored)],
    ]
    return table(["lengths", *(text.label for text in scored)], rows)


def buckets(texts: TextsOfSplit) -> list[tuple[str, Bool[np.ndarray, "sentences"]]]:
    """The sentences in four parts by their sources' lengths, about equally many each: a part's name, and which."""
    lengths = texts.source_lengths
    part = np.searchsorted(np.quantile(lengths, [0.25, 0.5, 0.75]), lengths)  # equal lengths are in one part
    chosen = [part == number for number in np.unique(part)]
    return [(_name(lengths[which]), which) for which in chosen]


def _name(lengths: Int[np.ndarray, "some"]) -> str:
    low, high = lengths.min(), lengths.max()
    pieces = f"{low}" if low == high else f"{low} to {high}"
    return f"{pieces} pieces ({len(lengths):,} sentence{'s' * (len(lengths) != 1)})"


def _hypothesis(text: ScoredText) -> Int[np.ndarray, "sentences"]:
    return text.statistics[:, -2]


def _ratio(text: ScoredText, chosen: Bool[np.ndarray, "sentences"]) -> str:
    """In all, not the mean of ratios: as in BLEU's brevity penalty."""
    reference = int(text.statistics[chosen, -1].sum())
    return f"{_hypothesis(text)[chosen].sum() / reference:.3f}" if reference else "no reference"


def _empty(text: ScoredText) -> int:
    return sum(not translation.strip() for translation in text.translations)
