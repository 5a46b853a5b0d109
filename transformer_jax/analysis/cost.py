"""Floating-point operations of training, counted from the configuration: what Table 2's cost column estimates.

Two a multiply-add, of matrix products alone; element-wise work (softmax, norms, dropout, biases) is left out. With the
symbols of the paper, a query side of Q positions and a memory of M, one layer's parts make these multiply-adds:

    queries W_Q and output W_O     Q d_model h d_k + Q h d_v d_model     section 3.2.2
    keys W_K and values W_V        M d_model h d_k + M d_model h d_v     section 3.2.2
    scores Q K^T, weights times V  Q M h d_k + Q M h d_v                 equation (1)
    feed-forward W_1 and W_2       2 Q d_model d_ff                      equation (2)

An encoder layer has one attention (Q = M = S) and one feed-forward network (Q = S), a decoder layer two attentions
(Q = M = T; Q = T, M = S) and one network (Q = T); there are N of each. The softmax's matrix adds T d_model V. Decoder
self-attention counts in full: the code computes the scores that the causal mask then hides. Restricted self-attention
counts the blocks that it computes, too, instead of M in the third line.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from transformer_jax import config
from transformer_jax.model.masks import Neighbourhood, centred, trailing
from transformer_jax.model.restricted_attention import blocks_for

_FLOPS_PER_MULTIPLY_ADD = 2.0
Length = int | float  # tokens of a sequence; the mean of many need not be whole


def forward_flops(model: config.Model, vocab_size: int, *, source: Length, target: Length) -> float:
    """Operations from one pair's ids to its logits; the lengths include the end tokens, and padding where there is.

    Of mean lengths it is the mean over pairs, but for the terms in Q M: those fall short by the lengths' (co)variances.
    """
    near_source = _positions_read(source, model.encoder_neighbourhood, centred)
    near_target = _positions_read(target, model.decoder_neighbourhood, trailing)
    encoder_layer = _attention(model, source, source, near_source) + _feed_forward(model, source)
    self_attention = _attention(model, target, target, near_target)
    decoder_layer = self_attention + _attention(model, target, source, source) + _feed_forward(model, target)
    logits = target * model.d_model * vocab_size
    return _FLOPS_PER_MULTIPLY_ADD * (model.num_layers * (encoder_layer + decoder_layer) + logits)


def training_flops(model: config.Model, vocab_size: int, *, source: Length, target: Length) -> float:
    """Operations of one pair's share in an update: three times the forward pass.

    The gradient of a product A B with respect to A is a product of the same size, and so is that with respect to B;
    each product of the forward pass needs both, since what it multiplies depends on parameters, if only on embeddings.
    Not in it: the positions that fill up the loss's last chunk, and what `Model.rematerialise` has computed again.
    """
    return 3.0 * forward_flops(model, vocab_size, source=source, target=target)


def utilisation(model: config.Model, vocab_size: int, record: Mapping[str, Any], *, peak: float) -> float:
    """The share of `peak`, FLOP/s, that the updates of a training record make of real tokens; padding counts nothing.

    By the record's mean lengths: less than it is, by what the scores of pairs of different lengths have in common.
    """
    pairs, targets = record["pairs_per_update"], record["target_tokens_per_update"]
    source, target = record["source_tokens_per_update"] / pairs, targets / pairs
    updates_per_second = record["target_tokens_per_second"] / targets
    return updates_per_second * pairs * training_flops(model, vocab_size, source=source, target=target) / peak


def _positions_read(length: Length, size: int | None, around: Callable[[int], Neighbourhood]) -> Length:
    """How many positions of self-attention's memory each query is multiplied with."""
    return length if size is None else min(length, blocks_for(math.ceil(length), around(size)).read)


def _attention(model: config.Model, queries: Length, memory: Length, read: Length) -> Length:
    """Multiply-adds of one multi-head attention that multiplies each query with `read` positions of its memory."""
    heads_k, heads_v = model.num_heads * model.d_k, model.num_heads * model.d_v
    projections = (queries + memory) * model.d_model * (heads_k + heads_v)
    return projections + queries * read * (heads_k + heads_v)


def _feed_forward(model: config.Model, positions: Length) -> Length:
    """Multiply-adds of one position-wise network."""
    return 2 * positions * model.d_model * model.d_ff
