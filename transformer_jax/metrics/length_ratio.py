"""Are translations too short or too long, and of which sources?"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Integer

_LONGEST = (10, 20, 30, 40, 60)  # source of each group, in tokens; one more group holds all longer ones


class LengthRatio(NamedTuple):
    """Of the sentences whose sources have `low` to `high` tokens."""

    low: int
    high: int | None  # None: or any number above `low`
    sentences: int
    ratio: float | None  # as `length_ratio`


def length_ratio(
    hypotheses: Integer[np.ndarray, "sentences"], references: Integer[np.ndarray, "sentences"]
) -> float | None:
    """Tokens of all hypotheses, divided by those of all references, as in BLEU's brevity penalty; None without any."""
    return int(hypotheses.sum()) / int(references.sum()) if references.any() else None


def length_ratios(
    sources: Integer[np.ndarray, "sentences"],
    hypotheses: Integer[np.ndarray, "sentences"],
    references: Integer[np.ndarray, "sentences"],
) -> list[LengthRatio]:
    """The ratio by the lengths of sources, shortest first, each sentence in one group; groups without any are left out.

    Args are lengths in tokens, all counted alike: with end tokens or without.
    """
    group_of = np.searchsorted(_LONGEST, sources)
    bounds = zip((0, *(longest + 1 for longest in _LONGEST)), (*_LONGEST, None), strict=True)
    groups = [(low, high, group_of == group) for group, (low, high) in enumerate(bounds)]
    return [
        LengthRatio(low, high, int(own.sum()), length_ratio(hypotheses[own], references[own]))
        for low, high, own in groups
        if own.any()
    ]
