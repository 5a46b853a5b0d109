"""The residual sub-layer and the layers of the encoder and the decoder, section 3.1."""

from collections.abc import Callable
from typing import TypeVar

import flax.linen as nn
import jax
from jaxtyping import Array, Bool, Float, Int

from transformer_jax import config
from transformer_jax.model.attention import MultiHeadAttention
from transformer_jax.model.dot_product import Memory
from transformer_jax.model.dropout import Dropout
from transformer_jax.model.feed_forward import FeedForward
from transformer_jax.model.layer_norm import LayerNorm
from transformer_jax.model.masks import RestrictedMask

Extra = TypeVar("Extra")


class Residual(nn.Module):
    """LayerNorm(x + Dropout(Sublayer(x))); with `pre_norm`, x + Dropout(Sublayer(LayerNorm(x)))."""

    config: config.Model

    @nn.compact
    def __call__(
        self, x: Float[Array, "B T D"], sublayer: Callable[[Array], tuple[Array, Extra]], *, deterministic: bool
    ) -> tuple[Float[Array, "B T D"], Extra]:
        """Returns the sum and whatever `sublayer` returned beside its output."""
        norm = LayerNorm(self.config.layer_norm_epsilon)
        y, extra = sublayer(norm(x) if self.config.pre_norm else x)
        total = x + Dropout(self.config.dropout_rate)(y, deterministic=deterministic)
        return (total if self.config.pre_norm else norm(total)), extra


def _attention(model: config.Model) -> MultiHeadAttention:
    return MultiHeadAttention(
        d_model=model.d_model,
        num_heads=model.num_heads,
        d_k=model.d_k,
        d_v=model.d_v,
        use_bias=model.attention_biases,
        dropout_rate=model.attention_dropout_rate,
    )


class EncoderLayer(nn.Module):
    """Self-attention, then the feed-forward network, each a residual sub-layer."""

    config: config.Model

    def setup(self) -> None:
        self.self_attention = _attention(self.config)
        self.feed_forward = FeedForward(self.config.d_model, self.config.d_ff, self.config.feed_forward_dropout_rate)
        self.self_attention_residual = Residual(self.config)
        self.feed_forward_residual = Residual(self.config)

    def __call__(
        self, x: Float[Array, "B S D"], mask: Bool[Array, "B 1 1 S"] | RestrictedMask, *, deterministic: bool
    ) -> tuple[Float[Array, "B S D"], Float[Array, "B H S S"]]:
        """Returns the layer's output and its attention weights."""

        def attend(z: Array) -> tuple[Array, Array]:
            return self.self_attention.attend(z, self.self_attention.memory(z), mask, deterministic=deterministic)

        def transform(z: Array) -> tuple[Array, None]:
            return self.feed_forward(z, deterministic=deterministic), None

        x, weights = self.self_attention_residual(x, attend, deterministic=deterministic)
        x, _ = self.feed_forward_residual(x, transform, deterministic=deterministic)
        return x, weights


class DecoderLayer(nn.Module):
    """Masked self-attention, attention over the encoder's output, feed-forward, each a residual sub-layer."""

    config: config.Model

    def setup(self) -> None:
        self.self_attention = _attention(self.config)
        self.source_attention = _attention(self.config)
        self.feed_forward = FeedForward(self.config.d_model, self.config.d_ff, self.config.feed_forward_dropout_rate)
        self.self_attention_residual = Residual(self.config)
        self.source_attention_residual = Residual(self.config)
        self.feed_forward_residual = Residual(self.config)

    def source_memory(self, encoded: Float[Array, "B S D"]) -> Memory:
        """The keys and values of the encoder's output, which all target positions share."""
        return self.source_attention.memory(encoded)

    def __call__(
        self,
        x: Float[Array, "B T D"],
        self_mask: Bool[Array, "1 1 T T"] | RestrictedMask,
        encoded: Float[Array, "B S D"],
        source_mask: Bool[Array, "B 1 1 S"],
        *,
        deterministic: bool,
    ) -> tuple[Float[Array, "B T D"], tuple[Float[Array, "B H T T"], Float[Array, "B H T S"]]]:
        """All target positions at once. Returns the output, and the weights over the target and over the source."""

        def attend(z: Array) -> tuple[Array, Array]:
            return self.self_attention.attend(z, self.self_attention.memory(z), self_mask, deterministic=deterministic)

        x, self_weights = self.self_attention_residual(x, attend, deterministic=deterministic)
        memory = self.source_memory(encoded)
        x, source_weights = self._after_self_attention(x, memory, source_mask, deterministic=deterministic)
        return x, (self_weights, source_weights)

    def step(
        self,
        x: Float[Array, "B beam D"],
        position: Int[Array, ""],
        past: Memory,
        past_mask: Bool[Array, "B 1 beam M"],
        source_memory: Memory,
        source_mask: Bool[Array, "B 1 1 S"],
    ) -> tuple[Float[Array, "B beam D"], Memory]:
        """One target position of each beam, given the memory [B, H, T * beam, K] of those before; returns it extended.

        The positions of all beams of a sentence are one memory, as are those of its source: nothing is copied for a
        beam, or moved when hypotheses change places; the mask says whose past is whose (see `masks.history_mask`).
        """

        def attend(z: Array) -> tuple[Array, Memory]:
            memory = jax.tree.map(
                lambda old, new: jax.lax.dynamic_update_slice_in_dim(old, new, position * z.shape[1], axis=2),
                past,
                self.self_attention.memory(z),
            )
            y, _ = self.self_attention.attend(z, memory, past_mask, deterministic=True)
            return y, memory

        x, extended = self.self_attention_residual(x, attend, deterministic=True)
        x, _ = self._after_self_attention(x, source_memory, source_mask, deterministic=True)
        return x, extended

    def _after_self_attention(
        self, x: Array, source_memory: Memory, source_mask: Array, *, deterministic: bool
    ) -> tuple[Array, Array]:
        def attend(z: Array) -> tuple[Array, Array]:
            return self.source_attention.attend(z, source_memory, source_mask, deterministic=deterministic)

        def transform(z: Array) -> tuple[Array, None]:
            return self.feed_forward(z, deterministic=deterministic), None

        x, weights = self.source_attention_residual(x, attend, deterministic=deterministic)
        x, _ = self.feed_forward_residual(x, transform, deterministic=deterministic)
        return x, weights
