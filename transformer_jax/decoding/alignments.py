"""Which token of the source each token of a translation comes from, by the decoder's attention over the source.

The weights are those of the last layer, averaged over its heads, while the translation is read at once. They were
learned for translating, not for aligning: a token may look at the neighbour of the one that it translates.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float, Float32, Int

from transformer_jax import parallel
from transformer_jax.decoding.pair_batches import Pair, PairBatch, pair_batches
from transformer_jax.model.transformer import Params, Transformer
from transformer_jax.special_ids import EOS_ID

Weights = Float32[np.ndarray, "T S"]  # a row for each id of the target; it sums to 1
Links = list[tuple[int, int]]  # (position in the source, position in the target), from 0, by target position


class Aligner:
    """Reads translations with one model, on all devices of this process. Compiles once a shape."""

    def __init__(self, model: Transformer, params: Params, *, tokens_per_batch: int):
        self._max_length, self._tokens_per_batch = model.config.max_length, tokens_per_batch
        self._params = parallel.copies(params)

        def last_layer(params: Params, source: Int[Array, "B S"], target: Int[Array, "B T"]) -> Float[Array, "B T S"]:
            weights: Any = model.apply({"params": params}, source, target, method="attention_weights")
            return weights.source[-1].mean(1)

        self._last_layer = jax.jit(last_layer)

    def weights(self, pairs: Sequence[Pair]) -> Iterator[tuple[int, Weights]]:
        """Which pair, and its weights, whatever the others are; batch by batch, the longest pairs first.

        Raises:
          SequenceTooLongError: a side of a pair is longer than the model's max_length.
        """
        batches = pair_batches(pairs, longest=self._max_length, tokens_per_batch=self._tokens_per_batch)
        for batch, weights in parallel.on_each_device(self._read, batches):
            for i, own in zip(batch.indices, weights, strict=False):
                yield i, own[: len(pairs[i].target), : len(pairs[i].source)]

    def links(self, pairs: Sequence[Pair]) -> list[Links]:
        """`links_of` each pair, in order."""
        found = {i: links_of(weights, pairs[i]) for i, weights in self.weights(pairs)}
        return [found[i] for i in range(len(pairs))]

    def _read(self, batch: PairBatch, device: jax.Device) -> tuple[PairBatch, Float32[np.ndarray, "B T S"]]:
        return batch, np.asarray(self._last_layer(self._params[device], batch.source, batch.target))


def links_of(weights: Weights, pair: Pair) -> Links:
    """For each token of the target the token of the source with the largest weight; the first of equals.

    End tokens are linked to nothing, and so is all of a target whose source is empty.
    """
    sources, targets = (len(side) - (list(side[-1:]) == [EOS_ID]) for side in pair)
    if sources == 0:
        return []
    best = weights[:targets, :sources].argmax(1)
    return [(source, target) for target, source in enumerate(best.tolist())]
