"""The text that the vocabulary is learned from: all of it, or pairs that lie evenly in it."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from jaxtyping import Int64

from transformer_jax.data.preparation.text_shards import num_pairs, read_texts


def sampled_sentences(
    shards: Sequence[Path], dropped: Sequence[Int64[np.ndarray, " _"]], sample: int | None
) -> Iterator[str]:
    """The sources, then the targets, of at most `sample` pairs of all shards' but the `dropped` ones; None: of all."""
    counts = [num_pairs(shard) - len(rows) for shard, rows in zip(shards, dropped, strict=True)]
    firsts = np.cumsum([0, *counts])
    size = min(sample or firsts[-1], firsts[-1])
    chosen = np.arange(size) * firsts[-1] // max(size, 1)
    cuts = np.searchsorted(chosen, firsts)
    rows = [
        np.delete(np.arange(num_pairs(shard)), dropped[k])[chosen[cuts[k] : cuts[k + 1]] - firsts[k]]
        for k, shard in enumerate(shards)
    ]
    return chain.from_iterable(
        read_texts(shard, side, rows[k]) for side in ("source", "target") for k, shard in enumerate(shards)
    )
