"""How fast the devices multiply matrices at best, measured: what a training step's speed is set against."""

import time

import jax
import jax.numpy as jnp

from transformer_jax import parallel
from transformer_jax.config import ComputeDtype

_SIZES = (512, 1024, 2048, 4096, 8192)
_PRODUCTS, _TRIES = 2, 3
_FLOPS_PER_MULTIPLY_ADD = 2.0


def matmul_peak(dtype: ComputeDtype, *, seconds: float = 1.0) -> float:
    """FLOP/s of this process's devices together: the best of products of square matrices, each alone on its device.

    Sizes go up to 8192 for as long as all of it takes about so many `seconds`; a core is at its best from 1024 on.
    """
    best, ends = 0.0, time.monotonic() + seconds
    for size in _SIZES:
        took = _seconds_of_a_product(size, dtype)
        best = max(best, parallel.num_devices() * _FLOPS_PER_MULTIPLY_ADD * size**3 / took)
        next_takes = 8 * took * _PRODUCTS * (_TRIES + 1)
        if time.monotonic() + next_takes > ends:
            return best
    return best


def _seconds_of_a_product(size: int, dtype: ComputeDtype) -> float:
    """The shortest of a few tries, on all devices at once."""
    # Of unit rows in expectation: products of products neither vanish nor overflow, as both would change their speed.
    matrix = jax.random.normal(jax.random.key(0), (size, size), jnp.float32) * size**-0.5
    matrix, shards = parallel.replicate(matrix.astype(dtype)), jnp.zeros(parallel.num_devices())
    run = parallel.on_all_devices(_products, donate_state=False)
    jax.block_until_ready(run(matrix, shards))  # compiles
    tries = []
    for _ in range(_TRIES):
        started = time.monotonic()
        jax.block_until_ready(run(matrix, shards))
        tries.append(time.monotonic() - started)
    return min(tries) / _PRODUCTS


def _products(matrix: jax.Array, _: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, _PRODUCTS, lambda _, product: product @ matrix, matrix)
