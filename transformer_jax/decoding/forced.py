"""Forced decoding: how probable the model finds translations that are given, all their positions at once.

The score of a hypothesis is the one that the search gives it.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Float32, Int

from transformer_jax import config, parallel
from transformer_jax.decoding.hypotheses import length_penalty
from transformer_jax.decoding.pair_batches import Pair, PairBatch, pair_batches
from transformer_jax.model.transformer import Params, Transformer

# Positions whose logits exist at a time: [batch, time, vocab] in float32 would be by far the largest array.
_CHUNK = 512


class Forced(NamedTuple):
    """One translation, as the model finds it."""

    log_prob: float  # nats, of all its tokens
    score: float  # log P / length penalty
    token_log_probs: list[float]  # of each token after those before it; the end token's is the last


def target_log_probs(
    model: Transformer, params: Params, source: Int[Array, "B S"], target: Int[Array, "B T"]
) -> Float[Array, "B T"]:
    """The log-probability of each id of `target`, given the source and the target before it, in float32."""
    applied: Any = model.apply({"params": params}, source, target, deterministic=True, method="outputs")
    outputs, table = applied

    def log_prob(position: tuple[Float[Array, "D"], Int[Array, ""]]) -> Float[Array, ""]:
        output, id = position
        logits = jnp.einsum("d,vd->v", output, table.astype(output.dtype), preferred_element_type=jnp.float32)
        return jax.nn.log_softmax(logits)[id]

    positions = outputs.reshape(target.size, -1), target.reshape(target.size)
    return jax.lax.map(log_prob, positions, batch_size=_CHUNK).reshape(target.shape)


class ForcedDecoder:
    """Scores given translations with one model, on all devices of this process.

    Compiles once a shape, of which there are few, whatever is scored.
    """

    def __init__(self, model: Transformer, params: Params, decoding: config.Decoding):
        self._max_length, self._decoding = model.config.max_length, decoding
        self._params = parallel.copies(params)
        self._log_probs = jax.jit(partial(target_log_probs, model))

    def score(self, pairs: Sequence[Pair]) -> list[Forced]:
        """What the model says of each pair, in order, whatever stands beside it.

        A target that is given without its end token is scored without: it was cut off. A source of the end token alone
        is no case apart: the model has an opinion of what follows it, though the search never asks for it.

        Raises:
          SequenceTooLongError: a side of a pair is longer than the model's max_length.
        """
        batches = pair_batches(pairs, longest=self._max_length, tokens_per_batch=self._decoding.tokens_per_batch)
        found = {}
        for batch, log_probs in parallel.on_each_device(self._read, batches):
            for i, row in zip(batch.indices, log_probs, strict=False):
                found[i] = row[: len(pairs[i].target)]
        return self._scored([found[i] for i in range(len(pairs))])

    def _read(self, batch: PairBatch, device: jax.Device) -> tuple[PairBatch, Float32[np.ndarray, "B T"]]:
        return batch, np.asarray(self._log_probs(self._params[device], batch.source, batch.target))

    def _scored(self, found: Sequence[Float32[np.ndarray, "_"]]) -> list[Forced]:
        lengths = jnp.array([max(len(own), 1) for own in found], jnp.int32)  # no tokens, no penalty
        alpha, offset = self._decoding.length_penalty, self._decoding.length_penalty_offset
        penalties = np.asarray(length_penalty(lengths, alpha=alpha, offset=offset)).tolist()
        log_probs = [float(own.sum(dtype=np.float64)) for own in found]
        return [
            Forced(log_prob, log_prob / penalty, own.tolist())
            for log_prob, penalty, own in zip(log_probs, penalties, found, strict=True)
        ]
