"""The paper's model in NumPy float64, one sentence and one query at a time: what the JAX model must agree with.

There is no batch, no padding and no mask: a query is given the keys it may attend to, and no others.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from transformer_jax import config
from transformer_jax.special_ids import BOS_ID

Array = np.ndarray
Params = Mapping[str, Any]
Around = tuple[float, float]  # how many positions before a query's own and after it are visible
EVERYWHERE: Around = (math.inf, math.inf)
UP_TO_ITS_OWN: Around = (math.inf, 0)


def softmax(scores: Array) -> Array:
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()


def attention(queries: Array, keys: Array, values: Array, around: Around = EVERYWHERE) -> tuple[Array, Array]:
    """Equation (1) for queries [Q, K], keys [M, K], values [M, V]: the output [Q, V] and the weights [Q, M]."""
    output = np.zeros((len(queries), values.shape[1]))
    weights = np.zeros((len(queries), len(keys)))
    for i, query in enumerate(queries):
        visible = [j for j in range(len(keys)) if i - around[0] <= j <= i + around[1]]
        weights[i, visible] = softmax(np.array([query @ keys[j] / math.sqrt(len(query)) for j in visible]))
        for weight, value in zip(weights[i], values, strict=True):
            output[i] += weight * value
    return output, weights


def multi_head_attention(x: Array, memory: Array, p: Params, around: Around = EVERYWHERE) -> tuple[Array, Array]:
    """Section 3.2.2: Concat(head_1, ..., head_h) W_O, and each head's weights [H, Q, M]."""
    heads, weights = [], []
    for head in range(p["query"]["kernel"].shape[1]):
        queries, keys, values = (
            of @ _wide(p[name]["kernel"])[:, head] + (_wide(p[name]["bias"])[head] if "bias" in p[name] else 0.0)
            for of, name in ((x, "query"), (memory, "key"), (memory, "value"))
        )
        head_output, head_weights = attention(queries, keys, values, around)
        heads.append(head_output)
        weights.append(head_weights)
    w_o = _wide(p["output"]["kernel"])
    output = np.concatenate(heads, axis=1) @ w_o.reshape(-1, w_o.shape[-1])
    return output + (_wide(p["output"]["bias"]) if "bias" in p["output"] else 0.0), np.array(weights)


def feed_forward(x: Array, p: Params) -> Array:
    """Equation (2): max(0, x W1 + b1) W2 + b2."""
    inner = x @ _wide(p["inner"]["kernel"]) + _wide(p["inner"]["bias"])
    return np.maximum(0.0, inner) @ _wide(p["outer"]["kernel"]) + _wide(p["outer"]["bias"])


def layer_norm(x: Array, p: Params, *, epsilon: float) -> Array:
    """Each row to mean 0 and variance 1, then scaled and shifted (Ba et al. 2016)."""
    rows = [(row - np.mean(row)) / math.sqrt(np.var(row) + epsilon) for row in x]
    return np.array(rows) * _wide(p["scale"]) + _wide(p["bias"])


def sinusoids(length: int, d_model: int) -> Array:
    """Section 3.5, entry by entry."""
    table = np.zeros((length, d_model))
    for position in range(length):
        for i in range(d_model // 2):
            angle = position / math.pow(10000.0, 2 * i / d_model)
            table[position, 2 * i] = math.sin(angle)
            table[position, 2 * i + 1] = math.cos(angle)
    return table


def sines_then_cosines(length: int, d_model: int) -> Array:
    """tensor2tensor's: timescales in geometric progression from 1 to 10000, sines before cosines."""
    table = np.zeros((length, d_model))
    half = d_model // 2
    for position in range(length):
        for i in range(half):
            angle = position * math.exp(-i * math.log(10000.0) / (half - 1))
            table[position, i] = math.sin(angle)
            table[position, half + i] = math.cos(angle)
    return table


def smoothed_cross_entropy(logits: Array, target: int, *, label_smoothing: float) -> float:
    """-sum_v q(v) log p(v) of one token, with q written out."""
    q = np.full(len(logits), label_smoothing / (len(logits) - 1))
    q[target] = 1.0 - label_smoothing
    return float(-(q * np.log(softmax(logits))).sum())


def transformer(model: config.Model, p: Params, source: list[int], target: list[int]) -> Array:
    """Figure 1: logits [T, vocab] that predict each token of `target` from those before it and from `source`."""
    tables = {
        name: _wide(p[name]["table"]) for name in ("source_embedding", "target_embedding", "softmax") if name in p
    }
    shared = tables["source_embedding"]
    encoded = _stack(model, p["encoder"], shared[source], None)
    decoded = _stack(model, p["decoder"], tables.get("target_embedding", shared)[[BOS_ID, *target[:-1]]], encoded)
    return decoded @ tables.get("softmax", shared).T


def _stack(model: config.Model, p: Params, embeddings: Array, encoded: Array | None) -> Array:
    """The encoder, or the decoder where there is an encoder's output."""
    x = embeddings * math.sqrt(model.d_model) + _positions(model, p, len(embeddings))
    for i in range(model.num_layers):
        x = _layer(model, p[f"layers_{i}"], x, encoded)
    return layer_norm(x, p["final_norm"], epsilon=model.layer_norm_epsilon) if model.pre_norm else x


def _positions(model: config.Model, p: Params, length: int) -> Array:
    if model.positions == "learned":
        return _wide(p["positions"]["table"])[:length]
    return (sinusoids if model.positions == "sinusoidal" else sines_then_cosines)(length, model.d_model)


def _layer(model: config.Model, p: Params, x: Array, encoded: Array | None) -> Array:
    around = _around(model, decoder=encoded is not None)

    def residual(x: Array, name: str, sublayer: Callable[[Array], Array]) -> Array:
        def norm(z: Array) -> Array:
            return layer_norm(z, p[f"{name}_residual"]["LayerNorm_0"], epsilon=model.layer_norm_epsilon)

        return x + sublayer(norm(x)) if model.pre_norm else norm(x + sublayer(x))

    x = residual(x, "self_attention", lambda z: multi_head_attention(z, z, p["self_attention"], around)[0])
    if encoded is not None:
        x = residual(x, "source_attention", lambda z: multi_head_attention(z, encoded, p["source_attention"])[0])
    return residual(x, "feed_forward", lambda z: feed_forward(z, p["feed_forward"]))


def _around(model: config.Model, *, decoder: bool) -> Around:
    """Of a neighbourhood of r positions: the own and those before it in the decoder, as many on both sides else."""
    r = model.decoder_neighbourhood if decoder else model.encoder_neighbourhood
    if r is None:
        return UP_TO_ITS_OWN if decoder else EVERYWHERE
    return (r - 1, 0) if decoder else (r // 2, r - 1 - r // 2)


def _wide(x: Any) -> Array:
    return np.asarray(x, np.float64)
