"""Token embeddings and the softmax's weights, section 3.4; positions, section 3.5."""

import flax.linen as nn
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from transformer_jax import config
from transformer_jax.errors import UserError


class SequenceTooLongError(UserError):
    """A sequence that the position table does not reach."""


def require_length(length: int, max_length: int) -> None:
    """Raises SequenceTooLongError on the host: inside a compiled program a row past the table is clamped silently."""
    if length > max_length:
        raise SequenceTooLongError(f"a sequence of {length} tokens is longer than Model.max_length = {max_length}")


class Embedding(nn.Module):
    """A table with a row a token. One instance can serve source, target and softmax."""

    vocab_size: int
    d_model: int

    def setup(self) -> None:
        # Standard deviation d_model^-0.5, so that embeddings scaled by sqrt(d_model) have unit variance.
        self.table = self.param(
            "table", nn.initializers.normal(self.d_model**-0.5), (self.vocab_size, self.d_model), jnp.float32
        )

    def __call__(self, ids: Int[Array, "*shape"]) -> Float[Array, "*shape D"]:
        """Rows of the table, times sqrt(d_model)."""
        return self.table[ids] * self.d_model**0.5


def sinusoidal_positions(length: int, d_model: int) -> Float[np.ndarray, "T D"]:
    """PE(p, 2i) = sin(p / 10000^(2i / d_model)) and PE(p, 2i + 1) = cos(the same), as printed in section 3.5."""
    angles = np.arange(length)[:, None] / 10000.0 ** (np.arange(0, d_model, 2) / d_model)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, d_model).astype(np.float32)


def sines_then_cosines_positions(length: int, d_model: int) -> Float[np.ndarray, "T D"]:
    """tensor2tensor's variant: all sines, then all cosines, with exponents i / (d_model / 2 - 1)."""
    half = d_model // 2
    angles = np.arange(length)[:, None] * 10000.0 ** (-np.arange(half) / max(half - 1, 1))
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=-1).astype(np.float32)


class Positions(nn.Module):
    """The position table that a stack adds to its embeddings: constant, or learned (row E of Table 3)."""

    kind: config.Positions
    max_length: int
    d_model: int

    def setup(self) -> None:
        if self.kind == "learned":
            initializer = nn.initializers.normal(self.d_model**-0.5)
            self.table = self.param("table", initializer, (self.max_length, self.d_model), jnp.float32)
        else:
            make = sinusoidal_positions if self.kind == "sinusoidal" else sines_then_cosines_positions
            self.table = jnp.asarray(make(self.max_length, self.d_model))

    def first(self, length: int) -> Float[Array, "T D"]:
        """Positions 0 to length - 1."""
        require_length(length, self.max_length)
        return self.table[:length]

    def at(self, position: Int[Array, ""]) -> Float[Array, "D"]:
        """The row of one position, which the caller keeps below max_length."""
        return self.table[position]
