"""Which memory positions a query may attend to, as boolean values: True = may attend.

A stack is causal because of its mask, not because of its class, and restricted because of it too. Masks broadcast
against scores [B, H, Q, M].
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from transformer_jax.special_ids import PAD_ID


def padding_mask(ids: Int[Array, "B M"]) -> Bool[Array, "B 1 1 M"]:
    """Every query may attend to every position of `ids` that holds a token."""
    return (ids != PAD_ID)[:, None, None, :]


def causal_mask(length: int) -> Bool[Array, "1 1 {length} {length}"]:
    """Position i may attend to positions up to and including i (section 3.2.3)."""
    return jnp.tril(jnp.ones((1, 1, length, length), bool))


class Neighbourhood(NamedTuple):
    """Of restricted self-attention, section 4: positions i - before to i + after around each position i."""

    before: int
    after: int


def centred(size: int) -> Neighbourhood:
    """`size` positions, the own one in their middle; of an even number one more stands before it."""
    return Neighbourhood(before=size // 2, after=(size - 1) // 2)


def trailing(size: int) -> Neighbourhood:
    """`size` positions, the own one the last of them."""
    return Neighbourhood(before=size - 1, after=0)


class RestrictedMask(NamedTuple):
    """Every query may attend to the visible ones of the positions around its own. Few values, however long the text."""

    visible: Bool[Array, "B M"]
    neighbourhood: Neighbourhood

    def in_full(self) -> Bool[Array, "B 1 M M"]:
        """The same as a value for each query and each position."""
        positions = jnp.arange(self.visible.shape[1])
        return is_near(positions[:, None], positions, self.neighbourhood) & self.visible[:, None, None, :]


def is_near(query: Int[Array, "*#B"], memory: Int[Array, "*#B"], neighbourhood: Neighbourhood) -> Bool[Array, "*B"]:
    """Whether memory positions are among those around query positions."""
    return (memory >= query - neighbourhood.before) & (memory <= query + neighbourhood.after)


def history_mask(
    lanes: Int[Array, "B beam T"], position: Int[Array, ""], size: int | None = None
) -> Bool[Array, "B 1 beam T*beam"]:
    """Hypothesis k may attend, at each position t up to `position`, to the one lane `lanes[:, k, t]` of that position.

    Of the last `size` positions alone, where it is given. The memory holds the lanes of position 0, then those of
    position 1, and so on.
    """
    batch, beam, length = lanes.shape
    near = is_near(position, jnp.arange(length), trailing(length if size is None else size))
    own = (lanes[..., None] == jnp.arange(beam)) & near[:, None]
    return own.reshape(batch, 1, beam, length * beam)
