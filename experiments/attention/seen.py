"""What every head of a model looks at while it reads one sentence and its translation, given or the model's own."""

from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float32, Int

from experiments.attention.pieces import Piece, pieces
from experiments.attention.run import AttentionError, Run
from experiments.parser import read_symbols
from transformer_jax.decoding.generate import Generator
from transformer_jax.decoding.parser import words_of
from transformer_jax.decoding.source_batches import batch_length
from transformer_jax.decoding.translator import Translator
from transformer_jax.model.transformer import Params, Transformer
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID

_MOST_WEIGHTS = 4_000_000  # what a browser still shows


class Stack(NamedTuple):
    """One kind of attention: which tokens look, and at which. Rows sum to 1."""

    rows: list[Piece]
    columns: list[Piece]
    weights: Float32[np.ndarray, "layers H rows columns"]


class Seen(NamedTuple):
    """Of one sentence.

    A row of the decoder's stack is the token that was read last, of the source's stack the one that is written next:
    the same position.
    """

    run: str
    sentence: str
    target: str
    given: bool  # the target is not the model's own
    stacks: dict[str, Stack]  # "encoder", "decoder", "source"


def see(run: Run, sentence: str, target: str | None) -> Seen:
    """The weights while `target`, or else the model's own translation, is read after `sentence`.

    Raises:
      AttentionError: a text is not UTF-8, too long for the model, or too long for a picture; the sentence is empty.
    """
    source_ids = _encoded(run, "--sentence", sentence)
    if source_ids == [EOS_ID]:
        raise AttentionError("--sentence is empty")
    target_ids, text = _translated(run, sentence) if target is None else (_encoded(run, "--target", target), target)
    _require_size(run, len(source_ids), len(target_ids))
    encoder, decoder, source = _weights(run, source_ids, target_ids)
    read, written = pieces(run.vocabulary, source_ids, sentence), pieces(run.vocabulary, target_ids, text)
    begun = [*pieces(run.vocabulary, [BOS_ID]), *written[:-1]]
    stacks = {
        "encoder": Stack(read, read, encoder),
        "decoder": Stack(begun, begun, decoder),
        "source": Stack(written, read, source),
    }
    return Seen(run.workdir.name, sentence, text, target is not None, stacks)


def _encoded(run: Run, flag: str, text: str) -> list[int]:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise AttentionError(f"{flag} is not UTF-8 ({error.reason})") from error
    ids, longest = [*run.vocabulary.encode(text), EOS_ID], run.experiment.model.max_length
    if len(ids) > longest:
        raise AttentionError(f"{flag} has {len(ids)} tokens: must be at most Model.max_length = {longest}")
    return ids


def _translated(run: Run, sentence: str) -> tuple[list[int], str]:
    """The best translation as ids, with its end token if it has one, and as text."""
    symbols = read_symbols(run.workdir, run.experiment, run.vocabulary)
    generator = Generator(run.model, run.weights.params, run.experiment.decoding, symbols)
    (found,) = Translator(generator, run.vocabulary).translate([sentence], words=[words_of(sentence)])
    return [*found.hypothesis.ids, *[EOS_ID] * found.hypothesis.finished], found.text


def _require_size(run: Run, source: int, target: int) -> None:
    sizes = run.experiment.model
    count = sizes.num_layers * sizes.num_heads * (source * source + target * target + target * source)
    if count > _MOST_WEIGHTS:
        raise AttentionError(
            f"{source} tokens and a target of {target}: this model has {count:,} weights on them, and a picture shows "
            f"{_MOST_WEIGHTS:,} at most"
        )


@partial(jax.jit, static_argnums=0)
def _attention_weights(model: Transformer, params: Params, source: Int[Array, "B S"], target: Int[Array, "B T"]) -> Any:
    return model.apply({"params": params}, source, target, method="attention_weights")


def _weights(run: Run, source: list[int], target: list[int]) -> list[Float32[np.ndarray, "layers H Q M"]]:
    """Of the three stacks. Lengths are padded, so that few shapes are compiled."""
    longest = run.experiment.model.max_length
    padded = np.full((2, 1, batch_length(max(len(source), len(target)), longest)), PAD_ID, np.int32)
    padded[0, 0, : len(source)], padded[1, 0, : len(target)] = source, target

    found = _attention_weights(run.model, run.weights.params, *padded)
    lengths = (len(source), len(source)), (len(target), len(target)), (len(target), len(source))
    return [
        np.asarray(weights[:, 0, :, :queries, :memory], np.float32)
        for weights, (queries, memory) in zip(found, lengths, strict=True)
    ]
