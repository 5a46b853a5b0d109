"""From source ids to the best hypotheses: the model's step under the search, batch by batch, section 6.1."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from transformer_jax import config
from transformer_jax.decoding.beam_search import Cache, Hypotheses, beam_search
from transformer_jax.model.embedding import require_length
from transformer_jax.model.transformer import Params, Transformer, empty_cache
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID

_SHORTEST_BATCH = 16  # source positions; batches are this long, or 2, 4, 8, ... times as long
_ROWS_MULTIPLE = 8


class Hypothesis(NamedTuple):
    """The best translation of one source."""

    ids: list[int]  # without the end token
    score: float  # log P / length penalty
    log_prob: float  # nats, the end token's included
    finished: bool  # False: cut off at source length + max_extra_length


class Generator:
    """Translates ids with one model. Compiles once a batch shape; there are about log2(longest / 16) shapes."""

    def __init__(self, model: Transformer, params: Params, decoding: config.Decoding):
        self._params = jax.device_put(params)  # once, not with every batch
        self._decoding = decoding
        self._max_length = model.config.max_length
        self._search = jax.jit(make_search(model, decoding))

    @property
    def max_length(self) -> int:
        """The longest source, in tokens with the end token."""
        return self._max_length

    def generate(
        self, sources: Sequence[Sequence[int]], on_progress: Callable[[int], None] = lambda _: None
    ) -> list[Hypothesis]:
        """The best hypothesis of each source (ids with the end token), in order.

        A source without tokens, but for the end token, has the empty hypothesis: there is nothing to translate.
        `on_progress` is told how many are done.

        Raises:
          SequenceTooLongError: a source is longer than the model's max_length.
        """
        found: dict[int, Hypothesis] = {
            i: Hypothesis([], 0.0, 0.0, True) for i, source in enumerate(sources) if len(source) <= 1
        }
        for indices, batch in self._batches(sources):
            limits = np.zeros(len(batch), np.int32)
            limits[: len(indices)] = [len(sources[i]) + self._decoding.max_extra_length for i in indices]
            best = jax.tree.map(lambda leaf: np.asarray(leaf[:, 0]), self._search(self._params, batch, limits))
            found |= {i: _hypothesis(best, row) for row, i in enumerate(indices)}
            on_progress(len(found))
        return [found[i] for i in range(len(sources))]

    def _batches(self, sources: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], Int[np.ndarray, "B S"]]]:
        """Sources of similar length in padded batches, the longest first: what does not fit in memory fails early."""
        waiting: dict[int, list[int]] = {}
        for i, source in enumerate(sources):
            require_length(len(source), self._max_length)
            if len(source) > 1:
                waiting.setdefault(self._batch_length(len(source)), []).append(i)
        for length in sorted(waiting, reverse=True):
            fitting = self._decoding.tokens_per_batch // (length * self._decoding.beam_size)
            rows = max(fitting // _ROWS_MULTIPLE, 1) * _ROWS_MULTIPLE
            indices = sorted(waiting[length], key=lambda i: len(sources[i]))
            for start in range(0, len(indices), rows):
                batch = np.full((rows, length), PAD_ID, np.int32)
                for row, i in enumerate(indices[start : start + rows]):
                    batch[row, : len(sources[i])] = sources[i]
                yield indices[start : start + rows], batch

    def _batch_length(self, length: int) -> int:
        batch_length = _SHORTEST_BATCH
        while batch_length < length:
            batch_length *= 2
        return min(batch_length, self._max_length)


def make_search(
    model: Transformer, decoding: config.Decoding
) -> Callable[[Params, Int[Array, "B S"], Int[Array, "B"]], Hypotheses]:
    """`search(params, source, limits)`: the beam's hypotheses for each source of at most `limits` tokens."""

    def search(params: Params, source: Int[Array, "B S"], limits: Int[Array, "B"]) -> Hypotheses:
        encoded = model.apply({"params": params}, source, deterministic=True, method="encode")

        def step(ids: Array, position: Array, cache: Cache) -> tuple[Float[Array, "B beam vocab"], Cache]:
            logits, cache = model.apply({"params": params}, ids, position, cache, encoded, method="decode_step")
            # Neither the begin token nor padding can be part of a translation.
            return jax.nn.log_softmax(logits).at[:, :, jnp.array([PAD_ID, BOS_ID])].set(-jnp.inf), cache

        rows, length = source.shape
        max_steps = min(length + decoding.max_extra_length, model.config.max_length)
        return beam_search(
            step,
            empty_cache(model.config, rows, decoding.beam_size, max_steps),
            limits,
            beam_size=decoding.beam_size,
            max_steps=max_steps,
            alpha=decoding.length_penalty,
            offset=decoding.length_penalty_offset,
            bos_id=BOS_ID,
            eos_id=EOS_ID,
            pad_id=PAD_ID,
        )

    return search


def _hypothesis(best: Hypotheses, row: int) -> Hypothesis:
    finished = bool(best.finished[row])
    length = int(best.lengths[row]) - finished
    return Hypothesis(best.ids[row, :length].tolist(), float(best.scores[row]), float(best.log_probs[row]), finished)
