"""A trained Transformer that is not ours, in our modules: CTranslate2's test model, Arabic to Latin letters.

6 + 6 layers, pre-norm, biases everywhere, three tables. What only this model has stands here: a bias on the logits,
which the callers add; positions that count from 1; and fused query, key and value matrices, stored [out, in].
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from transformer_jax import config
from transformer_jax.model.embedding import sines_then_cosines_positions
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID

MODEL = config.Model(
    num_layers=6,
    d_model=32,
    d_ff=128,
    num_heads=8,
    d_k=4,
    d_v=4,
    dropout_rate=0.0,
    attention_dropout_rate=0.0,
    feed_forward_dropout_rate=0.0,
    encoder_neighbourhood=None,
    decoder_neighbourhood=None,
    positions="learned",  # a table that `load` fills
    max_length=23,
    pre_norm=True,
    attention_biases=True,
    shared_embedding=False,
    layer_norm_epsilon=1e-5,
    compute_dtype="float32",
    rematerialise="nothing",
)
Weights = dict[str, np.ndarray]


class Aren(NamedTuple):
    params: Any
    vocab_size: int  # of our tables: the larger of the two vocabularies
    logit_bias: np.ndarray  # [vocab]; -inf for ids that the target's vocabulary does not have
    source_ids: dict[str, int]
    target_ids: dict[str, int]
    cases: list[dict[str, Any]]  # inputs, and what CTranslate2 made of them


def load(folder: Path) -> Aren:
    with np.load(folder / "weights.npz") as stored:
        weights = {name.replace("|", "/"): stored[name] for name in stored.files}
    vocab_size = max(len(weights[f"{stack}/embeddings/weight"]) for stack in ("encoder", "decoder"))
    params = {stack: _stack(weights, stack) for stack in ("encoder", "decoder")}
    for name, stored_name in (
        ("source_embedding", "encoder/embeddings"),
        ("target_embedding", "decoder/embeddings"),
        ("softmax", "decoder/projection"),
    ):
        table = weights[f"{stored_name}/weight"]
        params[name] = {"table": np.pad(table, ((0, vocab_size - len(table)), (0, 0)))}
    bias = weights["decoder/projection/bias"]
    return Aren(
        params,
        vocab_size,
        np.pad(bias, (0, vocab_size - len(bias)), constant_values=-np.inf),
        _vocabulary(folder / "source_vocabulary.txt"),
        _vocabulary(folder / "target_vocabulary.txt"),
        json.loads((folder / "expected.json").read_text(encoding="utf-8"))["cases"],
    )


def _vocabulary(path: Path) -> dict[str, int]:
    ids = {token: i for i, token in enumerate(path.read_text(encoding="utf-8").split("\n")[:-1])}
    assert (ids["<blank>"], ids["<s>"], ids["</s>"]) == (PAD_ID, BOS_ID, EOS_ID)
    return ids


def _stack(weights: Weights, stack: str) -> dict[str, Any]:
    params = {f"layers_{i}": _layer(weights, f"{stack}/layer_{i}") for i in range(MODEL.num_layers)}
    positions = sines_then_cosines_positions(MODEL.max_length + 1, MODEL.d_model)[1:]
    return params | {"final_norm": _norm(weights, stack), "positions": {"table": positions}}


def _layer(weights: Weights, layer: str) -> dict[str, Any]:
    params = {
        "self_attention": _attention(weights, f"{layer}/self_attention"),
        "self_attention_residual": {"LayerNorm_0": _norm(weights, f"{layer}/self_attention")},
        "feed_forward": {
            "inner": _linear(*_matrix(weights, f"{layer}/ffn/linear_0")),
            "outer": _linear(*_matrix(weights, f"{layer}/ffn/linear_1")),
        },
        "feed_forward_residual": {"LayerNorm_0": _norm(weights, f"{layer}/ffn")},
    }
    if f"{layer}/attention/linear_0/weight" in weights:
        params["source_attention"] = _attention(weights, f"{layer}/attention")
        params["source_attention_residual"] = {"LayerNorm_0": _norm(weights, f"{layer}/attention")}
    return params


def _norm(weights: Weights, owner: str) -> dict[str, np.ndarray]:
    return {"scale": weights[f"{owner}/layer_norm/gamma"], "bias": weights[f"{owner}/layer_norm/beta"]}


def _matrix(weights: Weights, name: str) -> tuple[np.ndarray, np.ndarray]:
    """[in, out] and [out]."""
    return weights[f"{name}/weight"].T, weights[f"{name}/bias"]


def _linear(kernel: np.ndarray, bias: np.ndarray) -> dict[str, np.ndarray]:
    return {"kernel": kernel, "bias": bias}


def _attention(weights: Weights, name: str) -> dict[str, Any]:
    """One matrix of queries, keys and values, or one of queries and one of keys and values; then the output's."""
    *inputs, output = (
        _matrix(weights, f"{name}/linear_{i}") for i in range(3) if f"{name}/linear_{i}/weight" in weights
    )
    kernels = np.split(np.concatenate([kernel for kernel, _ in inputs], axis=1), 3, axis=1)
    biases = np.split(np.concatenate([bias for _, bias in inputs]), 3)
    heads = (MODEL.num_heads, MODEL.d_k)
    params = {
        part: _linear(kernel.reshape(-1, *heads), bias.reshape(heads))
        for part, kernel, bias in zip(("query", "key", "value"), kernels, biases, strict=True)
    }
    return params | {"output": _linear(output[0].reshape(*heads, -1), output[1])}
