"""Parameters of a model for tests, drawn without compiling its initialisation, and with no zero and no one among them.

A bias that is zero or a scale that is one could be left out, or applied twice, unnoticed.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from transformer_jax import config
from transformer_jax.model.transformer import Transformer


def param_shapes(model: config.Model, vocab_size: int) -> Any:
    """The shapes and dtypes of the model's parameters; nothing is allocated."""
    ids = jnp.ones((1, 1), jnp.int32)
    init = Transformer(model, vocab_size).init
    return jax.eval_shape(lambda: init(jax.random.key(0), ids, ids, deterministic=True))["params"]


def random_params(model: config.Model, vocab_size: int, seed: int = 0) -> Any:
    """Seeded values of the usual sizes: matrices keep variances, biases are about 0.3, scales about 1."""
    generator = np.random.default_rng(seed)

    def draw(path: tuple[Any, ...], leaf: jax.ShapeDtypeStruct) -> jax.Array:
        values = generator.normal(size=leaf.shape)
        kind, module = path[-1].key, path[-2].key
        if kind == "kernel":
            fan_in = np.prod(leaf.shape[:-1] if module in ("output", "inner", "outer") else leaf.shape[:1])
            values *= fan_in**-0.5
        elif kind == "table":
            values *= model.d_model**-0.5
        else:
            values = 0.3 * values + (1.0 if kind == "scale" else 0.0)
        return jnp.asarray(values, leaf.dtype)

    return jax.tree_util.tree_map_with_path(draw, param_shapes(model, vocab_size))
