"""Self-attention to a neighbourhood of each position, section 4, in O(r n d) operations.

Positions stand in blocks, each as long as the farther side of the neighbourhood: what a query may attend to lies in its
own block or in one beside it, and it is multiplied with nothing else.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped

from transformer_jax.model.dot_product import Memory, scaled_dot_product_attention
from transformer_jax.model.masks import Neighbourhood, RestrictedMask, is_near


class Blocks(NamedTuple):
    """How a sequence is divided."""

    size: int  # positions of a block; the last may be filled up
    before: int  # blocks that the queries of one read beside it, on either side: none or one
    after: int

    @property
    def read(self) -> int:
        """Positions that a query is multiplied with, those that its mask then hides included."""
        return (self.before + 1 + self.after) * self.size


def blocks_for(length: int, neighbourhood: Neighbourhood) -> Blocks:
    """One block of all positions where more would read no less."""
    before, after = neighbourhood
    blocks = Blocks(max(before, after, 1), min(before, 1), min(after, 1))
    return blocks if blocks.read < length else Blocks(length, 0, 0)


def restricted_attention(
    queries: Float[Array, "B H T K"],
    memory: Memory,
    mask: RestrictedMask,
    drop: Callable[[Array], Array] = lambda weights: weights,
) -> tuple[Float[Array, "B H T V"], Float[Array, "B H T T"]]:
    """What `scaled_dot_product_attention` gives with `mask.in_full()`, by fewer products.

    The weights are laid out in full, as that function's are; where nobody reads them the compiler leaves this out.

    Args:
      queries: projected queries.
      memory: projected keys [B, H, T, K] and values [B, H, T, V] of the same positions.
      mask: where a query may attend; one that may attend nowhere gets zeros.
      drop: applied to the weights before they meet the values (attention dropout).
    """
    length = queries.shape[2]
    blocks = blocks_for(length, mask.neighbourhood)
    if blocks.size == length:
        return scaled_dot_product_attention(queries, memory, mask.in_full(), drop)
    near = Memory(*(_with_neighbours(_divided(leaf, blocks), blocks) for leaf in memory))
    heads, weights = scaled_dot_product_attention(_divided(queries, blocks), near, _of_blocks(mask, blocks), drop)
    return _joined(heads)[:, :, :length], _in_full(weights, blocks)[:, :, :length, :length]


def _divided(x: Shaped[Array, "B H T K"], blocks: Blocks) -> Shaped[Array, "B H blocks block K"]:
    batch, heads, length, width = x.shape
    filled = jnp.pad(x, ((0, 0), (0, 0), (0, -length % blocks.size), (0, 0)))
    return filled.reshape(batch, heads, -1, blocks.size, width)


def _joined(x: Shaped[Array, "B H blocks block K"]) -> Shaped[Array, "B H T K"]:
    return x.reshape(*x.shape[:2], -1, x.shape[-1])


def _with_neighbours(x: Shaped[Array, "B H blocks block K"], blocks: Blocks) -> Shaped[Array, "B H blocks read K"]:
    """Each block between those beside it; beside the outermost stand zeros."""
    number = x.shape[2]
    outer = jnp.pad(x, ((0, 0), (0, 0), (blocks.before, blocks.after), (0, 0), (0, 0)))
    shifted = [outer[:, :, shift : shift + number] for shift in range(blocks.before + 1 + blocks.after)]
    return jnp.concatenate(shifted, axis=3)


def _of_blocks(mask: RestrictedMask, blocks: Blocks) -> Bool[Array, "B 1 blocks block read"]:
    queries = jnp.arange(blocks.size) + blocks.before * blocks.size
    near = is_near(queries[:, None], jnp.arange(blocks.read), mask.neighbourhood)
    visible = _with_neighbours(_divided(mask.visible[:, None, :, None], blocks), blocks)
    return near & jnp.swapaxes(visible, 3, 4)


def _in_full(weights: Float[Array, "B H blocks block read"], blocks: Blocks) -> Float[Array, "B H T T"]:
    """Each block's weights at the positions that they belong to, between zeros."""
    number = weights.shape[2]
    columns = (blocks.before + number + blocks.after) * blocks.size

    def place(block: Array, index: Array) -> Array:
        row = jnp.zeros((*block.shape[:-1], columns), block.dtype)
        return jax.lax.dynamic_update_slice_in_dim(row, block, index * blocks.size, axis=-1)

    rows = jax.vmap(place, in_axes=(2, 0), out_axes=2)(weights, jnp.arange(number))
    first = blocks.before * blocks.size
    return _joined(rows)[..., first : first + number * blocks.size]
