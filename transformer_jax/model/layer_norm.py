"""Layer normalisation (Ba et al. 2016), the norm of section 3.1."""

from functools import partial
from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def layer_norm(
    x: Float[Array, "*shape D"], scale: Float[Array, "D"], bias: Float[Array, "D"], *, epsilon: float
) -> Float[Array, "*shape D"]:
    """scale * (x - mean(x)) / sqrt(var(x) + epsilon) + bias over the last axis, computed in float32."""
    return _layer_norm(x, scale, bias, epsilon)


class _Normalised(NamedTuple):
    """What the gradient is made of. Derived by JAX, it would keep three arrays of x's size."""

    values: Float[Array, "*shape D"]
    variance: Float[Array, "*shape 1"]  # with epsilon; its root is taken again, else it would be kept broadcast


def _normalise(x: Float[Array, "*shape D"], epsilon: float) -> _Normalised:
    wide = x.astype(jnp.float32)
    centred = wide - wide.mean(-1, keepdims=True)
    variance = jnp.square(centred).mean(-1, keepdims=True) + epsilon
    return _Normalised(centred * jax.lax.rsqrt(variance), variance)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def _layer_norm(x: Array, scale: Array, bias: Array, epsilon: float) -> Array:
    return (_normalise(x, epsilon).values * scale + bias).astype(x.dtype)


def _forward(x: Array, scale: Array, bias: Array, epsilon: float) -> tuple[Array, tuple[_Normalised, Array]]:
    normalised = jax.lax.optimization_barrier(_normalise(x, epsilon))  # else XLA keeps x and computes it twice
    return (normalised.values * scale + bias).astype(x.dtype), (normalised, scale)


def _backward(_: float, kept: tuple[_Normalised, Array], gradient: Array) -> tuple[Array, Array, Array]:
    (values, variance), scale = kept
    scale = jax.lax.optimization_barrier(scale)  # else XLA keeps it, broadcast to x's shape, from the forward pass on
    wide = gradient.astype(jnp.float32)
    scaled = wide * scale
    along = (scaled * values).mean(-1, keepdims=True)
    by_x = (scaled - scaled.mean(-1, keepdims=True) - values * along) / jnp.sqrt(variance)
    rows = tuple(range(gradient.ndim - 1))
    return by_x.astype(gradient.dtype), (wide * values).sum(rows), wide.sum(rows)


_layer_norm.defvjp(_forward, _backward)


class LayerNorm(nn.Module):
    """Owns the scale (initially one) and the bias (initially zero) of `layer_norm`."""

    epsilon: float

    @nn.compact
    def __call__(self, x: Float[Array, "*shape D"]) -> Float[Array, "*shape D"]:
        features = (x.shape[-1],)
        scale = self.param("scale", nn.initializers.ones, features)
        bias = self.param("bias", nn.initializers.zeros, features)
        return layer_norm(x, scale, bias, epsilon=self.epsilon)
