"""The position-wise feed-forward network, section 3.3."""

import flax.linen as nn
import jax
from jaxtyping import Array, Float

from transformer_jax.model.dropout import Dropout
from transformer_jax.model.initializers import uniform_fan_in


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2, equation (2), at every position alike."""

    d_model: int
    d_ff: int
    dropout_rate: float

    @nn.compact
    def __call__(self, x: Float[Array, "B T D"], *, deterministic: bool) -> Float[Array, "B T D"]:
        initializer = uniform_fan_in(in_axes=(0,), out_axes=(1,))
        inner = nn.Dense(self.d_ff, dtype=x.dtype, kernel_init=initializer, name="inner")(x)
        active = Dropout(self.dropout_rate)(jax.nn.relu(inner), deterministic=deterministic)
        return nn.Dense(self.d_model, dtype=x.dtype, kernel_init=initializer, name="outer")(active)
