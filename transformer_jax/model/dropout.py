"""Dropout (Srivastava et al. 2014), section 5.4: where it acts is `layers.py`'s and `transformer.py`'s business."""

import flax.linen as nn
import jax
import jax.numpy as jnp
from jax.extend.random import threefry_2x32
from jaxtyping import Array, Float, UInt32

_LEVELS = 1 << 16


def dropout(x: Float[Array, "*shape"], rate: float, key: Array) -> Float[Array, "*shape"]:
    """Zeroes entries with probability `rate` and scales the others so that the expectation stays x.

    One 32-bit random word serves two entries, since random bits are a cost of their own on a CPU. The rate is thereby
    rounded to 1 / 65,536, and the scale is that of the rounded rate, so the expectation is exact.
    """
    dropped_levels = min(round(rate * _LEVELS), _LEVELS - 1)  # something is kept, whatever the rounding
    if dropped_levels == 0:
        return x
    words = _random_words(key, (x.size + 1) // 2)
    halves = jax.lax.bitcast_convert_type(words, jnp.uint16).reshape(-1)[: x.size].reshape(x.shape)
    scale = _LEVELS / (_LEVELS - dropped_levels)
    return jnp.where(halves >= dropped_levels, x * scale, jnp.zeros_like(x))


def _random_words(key: Array, count: int) -> UInt32[Array, "count"]:
    """Of threefry's 64 bits a hash `jax.random.bits` returns 32, so that it may be sharded. Here all 64 serve."""
    if jax.random.key_impl(key) == "threefry2x32":
        return threefry_2x32(jax.random.key_data(key), jnp.arange(count, dtype=jnp.uint32))
    return jax.random.bits(key, (count,), jnp.uint32)


class Dropout(nn.Module):
    """`dropout` with the module's own random stream; the identity when `deterministic`."""

    rate: float

    @nn.compact
    def __call__(self, x: Float[Array, "*shape"], *, deterministic: bool) -> Float[Array, "*shape"]:
        if deterministic or self.rate == 0.0:
            return x
        return dropout(x, self.rate, self.make_rng("dropout"))
