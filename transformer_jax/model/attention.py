"""Multi-head attention, section 3.2.2.

It reads a *memory*, the projected keys and values. Encoder self-attention, masked decoder self-attention, attention
over the encoder's output and cached decoding are one module with four memories; which positions of one a query may
attend to, and whether it is multiplied with the others at all, is said by the mask.
"""

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from transformer_jax.model.dot_product import Memory, scaled_dot_product_attention
from transformer_jax.model.dropout import Dropout
from transformer_jax.model.initializers import uniform_fan_in
from transformer_jax.model.masks import RestrictedMask
from transformer_jax.model.restricted_attention import restricted_attention


class Projection(nn.Module):
    """x W (+ b) from axes `in_shape` at the end of x to axes `out_shape`, written as an einsum."""

    equation: str
    in_shape: tuple[int, ...]
    out_shape: tuple[int, ...]
    use_bias: bool

    @nn.compact
    def __call__(self, x: Array) -> Array:
        in_axes = tuple(range(len(self.in_shape)))
        out_axes = tuple(range(len(self.in_shape), len(self.in_shape) + len(self.out_shape)))
        initializer = uniform_fan_in(in_axes=in_axes, out_axes=out_axes)
        kernel = self.param("kernel", initializer, self.in_shape + self.out_shape)
        y = jnp.einsum(self.equation, x, kernel.astype(x.dtype))
        if not self.use_bias:
            return y
        bias = self.param("bias", nn.initializers.zeros, self.out_shape).astype(x.dtype)
        return y + (bias[:, None, :] if bias.ndim == 2 else bias)  # [H, K] meets [B, H, positions, K]


class MultiHeadAttention(nn.Module):
    """Concat(head_1, ..., head_h) W_O, section 3.2.2, with h, d_k and d_v free of d_model."""

    d_model: int
    num_heads: int
    d_k: int
    d_v: int
    use_bias: bool
    dropout_rate: float

    def setup(self) -> None:
        to_heads = "btd,dhk->bhtk"
        model, heads_k, heads_v = (self.d_model,), (self.num_heads, self.d_k), (self.num_heads, self.d_v)
        self.query = Projection(to_heads, model, heads_k, self.use_bias)
        self.key = Projection(to_heads, model, heads_k, self.use_bias)
        self.value = Projection(to_heads, model, heads_v, self.use_bias)
        self.output = Projection("bhqv,hvd->bqd", heads_v, model, self.use_bias)
        self.dropout = Dropout(self.dropout_rate)

    def memory(self, x: Float[Array, "B M D"]) -> Memory:
        """The keys and values of `x`."""
        return Memory(self.key(x), self.value(x))

    def attend(
        self,
        x: Float[Array, "B Q D"],
        memory: Memory,
        mask: Bool[Array, "#B #H #Q #M"] | RestrictedMask,
        *,
        deterministic: bool,
    ) -> tuple[Float[Array, "B Q D"], Float[Array, "B H Q M"]]:
        """Queries of `x` attend to `memory`. Returns the output and each head's weights."""

        def drop(weights: Array) -> Array:
            return self.dropout(weights, deterministic=deterministic)

        queries = self.query(x)
        if isinstance(mask, RestrictedMask):
            heads, weights = restricted_attention(queries, memory, mask, drop)
        else:
            heads, weights = scaled_dot_product_attention(queries, memory, mask, drop)
        return self.output(heads), weights
