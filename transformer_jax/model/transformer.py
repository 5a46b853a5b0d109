"""The encoder, the decoder and the model, Figure 1."""

from collections.abc import Callable
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from transformer_jax import config
from transformer_jax.model.dot_product import Memory
from transformer_jax.model.dropout import Dropout
from transformer_jax.model.embedding import Embedding, Positions
from transformer_jax.model.layer_norm import LayerNorm
from transformer_jax.model.layers import DecoderLayer, EncoderLayer
from transformer_jax.model.masks import RestrictedMask, causal_mask, centred, history_mask, padding_mask, trailing
from transformer_jax.model.stack import apply_layers
from transformer_jax.special_ids import BOS_ID

Params = Any  # the tree of a model's parameters


class AttentionWeights(NamedTuple):
    """The weights of every layer, first layer first."""

    encoder: Float[Array, "layers B H S S"]
    decoder: Float[Array, "layers B H T T"]
    source: Float[Array, "layers B H T S"]


class Source(NamedTuple):
    """A source as the steps of decoding see it: each layer's keys and values, and where there are tokens."""

    memories: tuple[Memory, ...]
    mask: Bool[Array, "B 1 1 S"]


def shift_right(target: Int[Array, "B T"]) -> Int[Array, "B T"]:
    """The decoder's input: the target one position later, after the begin token (section 3.1)."""
    return jnp.pad(target[:, :-1], ((0, 0), (1, 0)), constant_values=BOS_ID)


def _through(
    stack: "Encoder | Decoder", apply: Callable[..., tuple[Array, Any]], x: Array, *, deterministic: bool
) -> tuple[Array, Any]:
    """x through the stack's layers, in the type that it computes in."""
    return apply_layers(
        stack.layers,
        apply,
        x.astype(stack.config.compute_dtype),
        dropout_key=None if deterministic else stack.make_rng("dropout"),
        rematerialise=stack.config.rematerialise,
    )


class Encoder(nn.Module):
    """N encoder layers over embedded positions."""

    config: config.Model

    def setup(self) -> None:
        self.layers = [EncoderLayer(self.config) for _ in range(self.config.num_layers)]
        self.positions = Positions(self.config.positions, self.config.max_length, self.config.d_model)
        self.dropout = Dropout(self.config.dropout_rate)
        if self.config.pre_norm:
            self.final_norm = LayerNorm(self.config.layer_norm_epsilon)

    def __call__(
        self, embedded: Float[Array, "B S D"], mask: Bool[Array, "B 1 1 S"], *, deterministic: bool
    ) -> tuple[Float[Array, "B S D"], Float[Array, "layers B H S S"]]:
        """Returns the outputs and every layer's weights."""

        size = self.config.encoder_neighbourhood
        self_mask = mask if size is None else RestrictedMask(mask[:, 0, 0], centred(size))

        def apply(layer: EncoderLayer, x: Array) -> tuple[Array, Array]:
            return layer(x, self_mask, deterministic=deterministic)

        x = self.dropout(embedded + self.positions.first(embedded.shape[1]), deterministic=deterministic)
        x, weights = _through(self, apply, x, deterministic=deterministic)
        return (self.final_norm(x) if self.config.pre_norm else x), weights


class Decoder(nn.Module):
    """N decoder layers over embedded positions and the encoder's output."""

    config: config.Model

    def setup(self) -> None:
        self.layers = [DecoderLayer(self.config) for _ in range(self.config.num_layers)]
        self.positions = Positions(self.config.positions, self.config.max_length, self.config.d_model)
        self.dropout = Dropout(self.config.dropout_rate)
        if self.config.pre_norm:
            self.final_norm = LayerNorm(self.config.layer_norm_epsilon)

    def source(self, encoded: Float[Array, "B S D"], mask: Bool[Array, "B 1 1 S"]) -> Source:
        """Each layer's keys and values of the encoder's output, projected once a sentence."""
        return Source(tuple(layer.source_memory(encoded) for layer in self.layers), mask)

    def __call__(
        self,
        embedded: Float[Array, "B T D"],
        encoded: Float[Array, "B S D"],
        source_mask: Bool[Array, "B 1 1 S"],
        *,
        deterministic: bool,
    ) -> tuple[Float[Array, "B T D"], tuple[Float[Array, "layers B H T T"], Float[Array, "layers B H T S"]]]:
        """All positions at once; returns outputs and every layer's weights over the target and over the source."""
        length, size = embedded.shape[1], self.config.decoder_neighbourhood
        everywhere = jnp.ones(embedded.shape[:2], bool)
        self_mask = causal_mask(length) if size is None else RestrictedMask(everywhere, trailing(size))

        def apply(layer: DecoderLayer, x: Array) -> tuple[Array, tuple[Array, Array]]:
            return layer(x, self_mask, encoded, source_mask, deterministic=deterministic)

        x = self.dropout(embedded + self.positions.first(length), deterministic=deterministic)
        x, weights = _through(self, apply, x, deterministic=deterministic)
        return (self.final_norm(x) if self.config.pre_norm else x), weights

    def step(
        self,
        embedded: Float[Array, "B beam D"],
        lanes: Int[Array, "B beam T"],
        position: Int[Array, ""],
        cache: tuple[Memory, ...],
        source: Source,
    ) -> tuple[Float[Array, "B beam D"], tuple[Memory, ...]]:
        """One position of each beam, given the cache of those before it."""
        mask = history_mask(lanes, position, self.config.decoder_neighbourhood)
        x = (embedded + self.positions.at(position)).astype(self.config.compute_dtype)
        extended = []
        for layer, past, memory in zip(self.layers, cache, source.memories, strict=True):
            x, layer_cache = layer.step(x, position, past, mask, memory, source.mask)
            extended.append(layer_cache)
        return (self.final_norm(x) if self.config.pre_norm else x), tuple(extended)


class Transformer(nn.Module):
    """The whole model. Ids in, logits out; sequences end with the end token and are filled up with the pad id."""

    config: config.Model
    vocab_size: int

    def setup(self) -> None:
        size, d_model = self.vocab_size, self.config.d_model
        self.source_embedding = Embedding(size, d_model)
        shared = self.config.shared_embedding
        self.target_embedding = self.source_embedding if shared else Embedding(size, d_model)
        self.softmax = self.source_embedding if shared else Embedding(size, d_model)
        self.encoder = Encoder(self.config)
        self.decoder = Decoder(self.config)

    def __call__(
        self, source: Int[Array, "B S"], target: Int[Array, "B T"], *, deterministic: bool
    ) -> Float[Array, "B T vocab"]:
        """Teacher forcing: logits [b, t] predict target[b, t] from the source and the target before t."""
        outputs, table = self.outputs(source, target, deterministic=deterministic)
        return _logits(outputs, table)

    def outputs(
        self, source: Int[Array, "B S"], target: Int[Array, "B T"], *, deterministic: bool
    ) -> tuple[Float[Array, "B T D"], Float[Array, "vocab D"]]:
        """The decoder's outputs and the softmax's table, whose product is the logits, for losses that never hold it."""
        mask = padding_mask(source)
        encoded, _ = self.encoder(self.source_embedding(source), mask, deterministic=deterministic)
        embedded = self.target_embedding(shift_right(target))
        outputs, _ = self.decoder(embedded, encoded, mask, deterministic=deterministic)
        return outputs, self.softmax.table

    def encode(self, source: Int[Array, "B S"], *, deterministic: bool) -> Source:
        """The source as the decoder sees it."""
        mask = padding_mask(source)
        encoded, _ = self.encoder(self.source_embedding(source), mask, deterministic=deterministic)
        return self.decoder.source(encoded, mask)

    def decode_step(
        self,
        ids: Int[Array, "B beam"],
        lanes: Int[Array, "B beam T"],
        position: Int[Array, ""],
        cache: tuple[Memory, ...],
        source: Source,
    ) -> tuple[Float[Array, "B beam vocab"], tuple[Memory, ...]]:
        """Logits of the token after `ids`, which stand at `position` of each beam, and the cache with them added.

        `lanes` are those of the hypotheses that the ids belong to, from position 0 to this one, at which each beam
        writes into its own.
        """
        outputs, cache = self.decoder.step(self.target_embedding(ids), lanes, position, cache, source)
        return _logits(outputs, self.softmax.table), cache

    def attention_weights(self, source: Int[Array, "B S"], target: Int[Array, "B T"]) -> AttentionWeights:
        """The weights of every head of every layer while `target` is read after `source`."""
        mask = padding_mask(source)
        encoded, encoder_weights = self.encoder(self.source_embedding(source), mask, deterministic=True)
        embedded = self.target_embedding(shift_right(target))
        _, decoder_weights = self.decoder(embedded, encoded, mask, deterministic=True)
        return AttentionWeights(encoder_weights, *decoder_weights)


def _logits(outputs: Float[Array, "*B D"], table: Float[Array, "vocab D"]) -> Float[Array, "*B vocab"]:
    return jnp.einsum("...d,vd->...v", outputs, table.astype(outputs.dtype), preferred_element_type=jnp.float32)


def empty_cache(model: config.Model, batch_size: int, beam_size: int, length: int) -> tuple[Memory, ...]:
    """The decoder's memories before the first of `length` steps: a layer, [B, H, length * beam, K] and [..., V]."""
    shape = (batch_size, model.num_heads, length * beam_size)
    keys = jnp.zeros((*shape, model.d_k), model.compute_dtype)
    values = jnp.zeros((*shape, model.d_v), model.compute_dtype)
    return (Memory(keys, values),) * model.num_layers


def longer_cache(cache: tuple[Memory, ...], more: int) -> tuple[Memory, ...]:
    """The same memories with room for `more` positions, which is beam times as many as steps."""
    return jax.tree.map(lambda leaf: jnp.pad(leaf, ((0, 0), (0, 0), (0, more), (0, 0))), cache)
