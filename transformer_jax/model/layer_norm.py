"""Layer normalisation (Ba et al. 2016), the norm of section 3.1."""

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def layer_norm(
    x: Float[Array, "*shape D"], scale: Float[Array, "D"], bias: Float[Array, "D"], *, epsilon: float
) -> Float[Array, "*shape D"]:
    """scale * (x - mean(x)) / sqrt(var(x) + epsilon) + bias over the last axis, computed in float32."""
    wide = x.astype(jnp.float32)
    centred = wide - wide.mean(-1, keepdims=True)
    variance = jnp.square(centred).mean(-1, keepdims=True)
    return (centred * jax.lax.rsqrt(variance + epsilon) * scale + bias).astype(x.dtype)


class LayerNorm(nn.Module):
    """Owns the scale (initially one) and the bias (initially zero) of `layer_norm`."""

    epsilon: float

    @nn.compact
    def __call__(self, x: Float[Array, "*shape D"]) -> Float[Array, "*shape D"]:
        features = (x.shape[-1],)
        scale = self.param("scale", nn.initializers.ones, features)
        bias = self.param("bias", nn.initializers.zeros, features)
        return layer_norm(x, scale, bias, epsilon=self.epsilon)
