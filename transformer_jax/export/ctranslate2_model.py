"""A model for CTranslate2, a C++ library that translates fast on CPUs and GPUs.

It applies the same equations to the same weights, in float32. Two things are said in its own way: query, key and value
matrices lie side by side in one, and all heads have one width, the larger of d_k and d_v; the others are filled up
with zeros, which change no product.
"""

from pathlib import Path
from typing import Any

import jax
import numpy as np
from ctranslate2.specs import Activation, TransformerDecoderSpec, TransformerEncoderSpec, TransformerSpec
from jaxtyping import Float

from transformer_jax import config
from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.export.export_error import ExportError
from transformer_jax.model.embedding import sines_then_cosines_positions, sinusoidal_positions
from transformer_jax.model.transformer import Params
from transformer_jax.special_ids import BOS_ID, EOS_ID, UNK_ID

_SPECIAL = 4  # ids that are no text


def save_ctranslate2(folder: Path, model: config.Model, params: Params, vocabulary: Vocabulary) -> None:
    """Writes the model into an existing folder, for `ctranslate2.Translator`. Sources are tokens without an end token.

    Raises:
      ExportError: two pieces of the vocabulary are the same, or self-attention is restricted to a neighbourhood.
    """
    for setting in ("encoder_neighbourhood", "decoder_neighbourhood"):
        if (size := getattr(model, setting)) is not None:
            raise ExportError(f"Model.{setting} = {size}: CTranslate2 knows no restricted self-attention")
    params = jax.tree.map(lambda leaf: np.asarray(leaf, np.float32), params)
    tokens = distinct_tokens(vocabulary.tokens(range(vocabulary.size)))
    spec = _spec(model)
    _set_stack(spec.encoder, spec.encoder.embeddings[0], params["encoder"], params["source_embedding"], model)
    target = params.get("target_embedding", params["source_embedding"])
    _set_stack(spec.decoder, spec.decoder.embeddings, params["decoder"], target, model)
    spec.decoder.projection.weight = params.get("softmax", params["source_embedding"])["table"]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.bos_token = spec.config.decoder_start_token = tokens[BOS_ID]
    spec.config.eos_token, spec.config.unk_token = tokens[EOS_ID], tokens[UNK_ID]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = model.layer_norm_epsilon
    spec.validate()
    spec.optimize()  # one table that is used three times is stored once
    spec.save(str(folder))


def distinct_tokens(tokens: list[str]) -> list[str]:
    """CTranslate2 knows tokens by their text: a special one that reads like a piece of text gets further brackets.

    Raises:
      ExportError: two pieces of text are the same.
    """
    pieces = tokens[_SPECIAL:]
    if len(set(pieces)) < len(pieces):
        twice = next(piece for i, piece in enumerate(pieces) if piece in pieces[:i])
        raise ExportError(f"the vocabulary holds the piece {twice!r} twice: CTranslate2 could not tell which is meant")
    special = tokens[:_SPECIAL]
    while set(special) & set(pieces):
        special = [f"<{token}>" for token in special]
    return special + pieces


def _spec(model: config.Model) -> TransformerSpec:
    width = max(model.d_k, model.d_v)
    shape = {"pre_norm": model.pre_norm, "activation": Activation.RELU, "head_dim": width}
    return TransformerSpec(
        TransformerEncoderSpec(model.num_layers, model.num_heads, **shape),
        TransformerDecoderSpec(model.num_layers, model.num_heads, **shape),
    )


def _set_stack(spec: Any, embeddings: Any, params: Params, table: Params, model: config.Model) -> None:
    embeddings.weight = table["table"]
    spec.scale_embeddings = True  # by sqrt(d_model)
    spec.position_encodings.encodings = _positions(params, model)
    for i, layer in enumerate(spec.layer):
        own = params[f"layers_{i}"]
        _set_attention(layer.self_attention, own, "self_attention", model)
        if "source_attention" in own:
            _set_attention(layer.attention, own, "source_attention", model)
        _set_linear(layer.ffn.linear_0, **own["feed_forward"]["inner"])
        _set_linear(layer.ffn.linear_1, **own["feed_forward"]["outer"])
        _set_norm(layer.ffn.layer_norm, own["feed_forward_residual"]["LayerNorm_0"])
    if model.pre_norm:
        _set_norm(spec.layer_norm, params["final_norm"])


def _positions(params: Params, model: config.Model) -> Float[np.ndarray, "T D"]:
    if model.positions == "learned":
        return params["positions"]["table"]
    make = sinusoidal_positions if model.positions == "sinusoidal" else sines_then_cosines_positions
    return make(model.max_length, model.d_model)


def _set_attention(spec: Any, layer: Params, name: str, model: config.Model) -> None:
    params, width = layer[name], max(model.d_k, model.d_v)
    inputs = [_to_heads(params[part], width) for part in ("query", "key", "value")]
    together = [inputs] if name == "self_attention" else [inputs[:1], inputs[1:]]
    for linear, parts in zip(spec.linear, together, strict=False):
        _set_linear(linear, **{key: np.concatenate([part[key] for part in parts], -1) for key in parts[0]})
    output = params["output"]
    kernel = _filled(output["kernel"], 1, width).reshape(-1, model.d_model)
    _set_linear(spec.linear[-1], kernel, output.get("bias"))
    spec.queries_scale = np.float32(model.d_k**-0.5)
    _set_norm(spec.layer_norm, layer[f"{name}_residual"]["LayerNorm_0"])


def _to_heads(projection: Params, width: int) -> Params:
    """Kernel [D, H, K] to [D, H * width], bias [H, K] to [H * width]."""
    filled = {key: _filled(leaf, -1, width) for key, leaf in projection.items()}
    return {key: leaf.reshape(*leaf.shape[:-2], -1) for key, leaf in filled.items()}


def _filled(array: np.ndarray, axis: int, width: int) -> np.ndarray:
    """Zeros at the end of the axis, up to `width`."""
    padding = [(0, 0)] * array.ndim
    padding[axis] = (0, width - array.shape[axis])
    return np.pad(array, padding)


def _set_linear(spec: Any, kernel: np.ndarray, bias: np.ndarray | None = None) -> None:
    spec.weight = np.ascontiguousarray(kernel.T)
    if bias is not None:
        spec.bias = bias


def _set_norm(spec: Any, params: Params) -> None:
    spec.gamma, spec.beta = params["scale"], params["bias"]
