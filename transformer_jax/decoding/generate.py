"""From source ids to the best hypotheses, batch by batch, section 6.1."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from transformer_jax import config, parallel
from transformer_jax.decoding.hypotheses import Hypotheses
from transformer_jax.decoding.length_limits import length_limits
from transformer_jax.decoding.model_search import Programs, Request
from transformer_jax.decoding.source_batches import SourceBatch, row_counts, rows_for, source_batches
from transformer_jax.decoding.tree_symbols import TreeSymbols
from transformer_jax.model.embedding import require_length
from transformer_jax.model.transformer import Params, Transformer
from transformer_jax.special_ids import PAD_ID


class Hypothesis(NamedTuple):
    """One translation of one source."""

    ids: list[int]  # without the end token
    score: float  # log P / length penalty
    log_prob: float  # nats, the end token's included
    finished: bool  # False: cut off at the limit


class Asked(NamedTuple):
    """What is asked for of one source."""

    prefix: Sequence[int]
    number: int  # of the source in the whole input
    words: Sequence[int]  # their classes


class Generator:
    """Translates ids with one model, on all devices of this process.

    Compiles once a shape: the positions of a batch and of its hypotheses, which grow by doubling, and its rows.
    """

    def __init__(
        self, model: Transformer, params: Params, decoding: config.Decoding, symbols: TreeSymbols | None = None
    ):
        """With the symbols of trees, each hypothesis is a tree over exactly the source's words.

        Raises:
          TreeSymbolError: there are none, but the config says that hypotheses are constrained to trees.
        """
        self._config, self._decoding, self._symbols = model.config, decoding, symbols
        self._params = parallel.copies(params)
        self._programs = Programs(model, decoding, symbols)

    @property
    def max_length(self) -> int:
        """The longest source, in tokens with the end token."""
        return self._config.max_length

    def generate(
        self,
        sources: Sequence[Sequence[int]],
        on_progress: Callable[[int], None] = lambda _: None,
        *,
        prefixes: Sequence[Sequence[int]] | None = None,
        first: int = 0,
        words: Sequence[Sequence[str]] | None = None,
    ) -> list[list[Hypothesis]]:
        """The hypotheses of each source (ids with the end token), in order, best first: at most `beam_size`.

        A source without tokens, but for the end token, has the empty hypothesis: there is nothing to translate.

        Args:
          on_progress: told how many are done.
          prefixes: ids that the hypotheses of each source must begin with.
          first: the number of the first source, where the sources are part of a longer input; see `sampling`.
          words: those of each source; asked for in a search for trees, and of no meaning elsewhere.

        Raises:
          SequenceTooLongError: a source or a prefix is longer than the model's max_length.
        """
        for ids in [*sources, *(prefixes or [])]:
            require_length(len(ids), self.max_length)
        found = [[Hypothesis([], 0.0, 0.0, True)] for _ in sources]
        wanted = [i for i, source in enumerate(sources) if len(source) > 1]
        done = len(sources) - len(wanted)
        batches = source_batches(
            [sources[i] for i in wanted],
            longest=self.max_length,
            beam_size=self._decoding.beam_size,
            tokens_per_batch=self._decoding.tokens_per_batch,
        )
        asked = self._asked(sources, prefixes, first, words)

        def translate(batch: SourceBatch, device: jax.Device) -> tuple[SourceBatch, list[list[Hypothesis]]]:
            return self._translate(batch, [asked[wanted[i]] for i in batch.indices], device)

        for batch, hypotheses in parallel.on_each_device(translate, batches):
            for i, own in zip(batch.indices, hypotheses, strict=True):
                found[wanted[i]] = own
            done += len(hypotheses)
            on_progress(done)
        return found

    def _asked(
        self,
        sources: Sequence[Sequence[int]],
        prefixes: Sequence[Sequence[int]] | None,
        first: int,
        words: Sequence[Sequence[str]] | None,
    ) -> list[Asked]:
        if self._symbols is not None and words is None:
            raise ValueError("a search for trees needs the words")
        nothing: list[list[int]] = [[] for _ in sources]
        classes = [self._symbols.classes_of(own) for own in words] if self._symbols and words else nothing
        given = zip(prefixes or nothing, classes, strict=True)
        return [Asked(prefix, number, own) for number, (prefix, own) in enumerate(given, start=first)]

    def _translate(
        self, batch: SourceBatch, asked: Sequence[Asked], device: jax.Device
    ) -> tuple[SourceBatch, list[list[Hypothesis]]]:
        """The search of a batch. Sentences that are done leave it; the others go on in fewer rows, and longer ones."""
        programs, params = self._programs, self._params[device]
        request = self._request(batch, asked, device)
        counts = row_counts(batch.ids.shape[1], self._decoding.beam_size, self._decoding.tokens_per_batch)
        state = programs.start(request.limits, batch.ids.shape[1])
        found: list[list[Hypothesis]] = [[] for _ in batch.indices]
        places = np.arange(len(batch.ids))  # of the rows of the state in the batch; those that hold nothing are beyond
        while True:
            rows, steps = state.live.ids.shape[0], state.live.ids.shape[2]
            fewer = next((count for count in counts if count < rows), 0)
            state, searching, hypotheses = programs.go_on(params, request, state, fewer)
            searching, hypotheses = np.asarray(searching), jax.tree.map(np.asarray, hypotheses)
            for row in np.flatnonzero(~searching & (places < len(found))):
                found[places[row]] = _hypotheses(hypotheses, int(row))
            left = np.flatnonzero(searching)
            if not len(left):
                return batch, found
            if (wanted := rows_for(len(left), counts)) < rows:
                kept = np.resize(left, wanted)
                request, state = programs.rows((request, state), kept)
                beyond = np.arange(wanted) >= len(left)
                places = np.where(beyond, len(found), places[kept])
                request = request._replace(limits=jnp.where(beyond, 0, request.limits))
            if int(state.step) == steps:
                state = programs.with_room(state, min(2 * steps, self.max_length))

    def _request(self, batch: SourceBatch, asked: Sequence[Asked], device: jax.Device) -> Request:
        prefix = _rows([each.prefix for each in asked], len(batch.ids), PAD_ID)
        lengths, prefix_lengths = ((ids != PAD_ID).sum(1) for ids in (batch.ids, prefix))
        least, most = length_limits(lengths, self._decoding, longest=self.max_length, prefix_lengths=prefix_lengths)
        limits = np.where(lengths > 0, most, 0)  # a row that is left makes no step
        numbers = np.zeros(len(batch.ids), np.int32)
        numbers[: len(asked)] = [each.number for each in asked]
        source = self._programs.encode({"params": self._params[device]}, batch.ids)
        # Put where they belong from the start: programs would be compiled again for values that later are.
        words = None if self._symbols is None else _rows([each.words for each in asked], len(batch.ids), -1)
        return Request(source, *jax.device_put((limits, least, prefix, numbers, words), device))


def _rows(sequences: Sequence[Sequence[int]], rows: int, filling: int) -> Int[np.ndarray, "rows room"]:
    """A row each, filled up; then rows of nothing else."""
    found = np.full((rows, _room(max(map(len, sequences), default=0))), filling, np.int32)
    for row, sequence in enumerate(sequences):
        found[row, : len(sequence)] = sequence
    return found


def _room(length: int) -> int:
    """0, 1, 2, 4, 8, ...: few shapes."""
    return 0 if length == 0 else 1 << (length - 1).bit_length()


def _hypotheses(found: Hypotheses, row: int) -> list[Hypothesis]:
    """Those of one sentence; the empty one, cut off, where the search found none."""
    own = [_hypothesis(found, row, beam) for beam in range(found.lengths.shape[1]) if found.lengths[row, beam]]
    return own or [Hypothesis([], -np.inf, -np.inf, False)]


def _hypothesis(found: Hypotheses, row: int, beam: int) -> Hypothesis:
    finished = bool(found.finished[row, beam])
    ids = found.ids[row, beam, : int(found.lengths[row, beam]) - finished]
    return Hypothesis(ids.tolist(), float(found.scores[row, beam]), float(found.log_probs[row, beam]), finished)
