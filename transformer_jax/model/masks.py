"""Which memory positions a query may attend to, as boolean values: True = may attend.

A stack is causal because of its mask, not because of its class. Masks broadcast against scores [B, H, Q, M].
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from transformer_jax.special_ids import PAD_ID


def padding_mask(ids: Int[Array, "B M"]) -> Bool[Array, "B 1 1 M"]:
    """Every query may attend to every position of `ids` that holds a token."""
    return (ids != PAD_ID)[:, None, None, :]


def causal_mask(length: int) -> Bool[Array, "1 1 {length} {length}"]:
    """Position i may attend to positions up to and including i (section 3.2.3)."""
    return jnp.tril(jnp.ones((1, 1, length, length), bool))


def past_mask(length: int, position: Int[Array, ""]) -> Bool[Array, "1 1 1 {length}"]:
    """The row of `causal_mask(length)` at `position`: for a query that stands there alone."""
    return (jnp.arange(length) <= position)[None, None, None, :]
