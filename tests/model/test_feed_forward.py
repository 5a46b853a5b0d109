"""The position-wise feed-forward network."""

import jax.numpy as jnp
import numpy as np
import numpy_oracle as oracle

from transformer_jax.model.feed_forward import FeedForward


def test_by_hand():
    """Inner units max(0, 1 * 2 - 5) = 0 and max(0, 3 * 2 + 1) = 7; output 10 * 0 + 2 * 7 - 4 = 10."""
    params = {
        "inner": {"kernel": jnp.array([[1.0, 3.0]]), "bias": jnp.array([-5.0, 1.0])},
        "outer": {"kernel": jnp.array([[10.0], [2.0]]), "bias": jnp.array([-4.0])},
    }
    output = FeedForward(1, 2, 0.0).apply({"params": params}, jnp.array([[[2.0]]]), deterministic=True)
    np.testing.assert_allclose(output, [[[10.0]]])


def test_agrees_with_numpy_at_every_position():
    generator = np.random.default_rng(1)
    shapes = {"inner": {"kernel": (7, 19), "bias": (19,)}, "outer": {"kernel": (19, 7), "bias": (7,)}}
    params = {
        layer: {name: jnp.asarray(generator.normal(size=shape), jnp.float32) / 3 for name, shape in leaves.items()}
        for layer, leaves in shapes.items()
    }
    x = jnp.asarray(generator.normal(size=(2, 5, 7)), jnp.float32)
    outputs = FeedForward(7, 19, 0.0).apply({"params": params}, x, deterministic=True)
    for row, output in zip(x, outputs, strict=True):
        np.testing.assert_allclose(output, oracle.feed_forward(np.asarray(row, np.float64), params), atol=1e-5)
