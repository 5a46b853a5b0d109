"""The model as programs that run without this package: StableHLO, by `jax.export`.

The weights are an argument, not a part, of the programs: they are stored once for all of them, in a file of their own,
can be exchanged, and compilers do not fold them.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import export

from transformer_jax import config
from transformer_jax.decoding.model_search import make_search
from transformer_jax.export.export_error import ExportError
from transformer_jax.export.safetensors_file import flat, nested
from transformer_jax.model.transformer import Params, Transformer

_PLATFORMS = ("cpu", "cuda", "tpu")


def export_logits(model: Transformer, params: Params) -> bytes:
    """`logits(weights, source [B, S], target [B, T]) -> [B, T, vocab]`, for any B, and S and T up to max_length.

    Ids are int32, and end with the end token; the weights are arrays by name, as `safetensors_file.flat` gives them.
    """

    def logits(weights: Any, source: Any, target: Any) -> Any:
        return model.apply({"params": nested(weights)}, source, target, deterministic=True)

    batch, source, target = _dimensions("B, S, T", model.config.max_length)
    return _export(logits, params, (batch, source), (batch, target))


def export_translate(model: Transformer, params: Params, decoding: config.Decoding) -> bytes:
    """`translate(weights, source [B, S], limits [B]) -> (ids [B, beam, T], lengths [B, beam], scores [B, beam])`.

    Beam search by `decoding`. A limit is the most tokens that a sentence's hypotheses may have, the end token included.
    At most T count, which is S times max_length_ratio, rounded up, plus max_extra_length, and max_length at most.

    Raises:
      ExportError: `decoding` asks for more than beam search.
    """
    _require_plain(decoding)

    def translate(weights: Any, source: Any, limits: Any) -> Any:
        # Shapes are made of whole numbers; the search needs room for a token.
        longest = source.shape[1] * math.ceil(decoding.max_length_ratio) + max(decoding.max_extra_length, 1)
        max_steps = jax.core.min_dim(longest, model.config.max_length)
        found = make_search(model, decoding, max_steps=max_steps)(nested(weights), source, limits)
        return found.ids, found.lengths, found.scores

    batch, source = _dimensions("B, S", model.config.max_length)
    return _export(translate, params, (batch, source), (batch,))


def _require_plain(decoding: config.Decoding) -> None:
    if decoding.sampling_temperature is not None:
        raise ExportError("Decoding.sampling_temperature: must be None, as the exported program is beam search")
    if decoding.min_length_ratio > 0:
        raise ExportError("Decoding.min_length_ratio: must be 0.0, as the exported program knows no least length")


def _dimensions(names: str, max_length: int) -> tuple[Any, ...]:
    """Symbols for the batch and for lengths, which have an end, as positions have."""
    lengths = names.split(", ")[1:]
    return tuple(export.symbolic_shape(names, constraints=[f"{name} <= {max_length}" for name in lengths]))


def _export(program: Callable[..., Any], params: Params, *shapes: tuple[Any, ...]) -> bytes:
    weights = {name: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for name, leaf in flat(params).items()}
    ids = [jax.ShapeDtypeStruct(shape, jnp.int32) for shape in shapes]
    return bytes(export.export(jax.jit(program), platforms=_PLATFORMS)(weights, *ids).serialize())
