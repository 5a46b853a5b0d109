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


def history_mask(lanes: Int[Array, "B beam T"], position: Int[Array, ""]) -> Bool[Array, "B 1 beam T*beam"]:
    """Hypothesis k may attend, at each position t up to `position`, to the one lane `lanes[:, k, t]` of that position.

    The memory holds the lanes of position 0, then those of position 1, and so on.
    """
    batch, beam, length = lanes.shape
    own = (lanes[..., None] == jnp.arange(beam)) & (jnp.arange(length) <= position)[:, None]
    return own.reshape(batch, 1, beam, length * beam)
