"""The layer types of Table 1 (section 4), of one width and behind one interface: a module from [B, n, d] to [B, n, d].

Self-attention and its restricted form are here what the table counts: the products of queries, keys and values, each
of which is the input itself, cut into heads. PROJECTED is the whole sub-layer, whose four projections add O(n d^2).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from transformer_jax.model.attention import MultiHeadAttention
from transformer_jax.model.dot_product import Memory, scaled_dot_product_attention
from transformer_jax.model.masks import RestrictedMask, centred
from transformer_jax.model.restricted_attention import restricted_attention

SELF_ATTENTION, PROJECTED = "self-attention", "self-attention with projections"
RECURRENT, RESTRICTED = "recurrent", "self-attention (restricted)"
CONTIGUOUS, DILATED = "convolutional, contiguous", "convolutional, dilated"
_D_K = 64  # as in the paper's models, whatever their width


class Sizes(NamedTuple):
    """In the table's symbols."""

    n: int  # positions
    d: int  # width; a multiple of 64, or less
    k: int  # kernel of a convolution
    r: int  # neighbourhood of restricted self-attention, a query's own position among it

    @property
    def heads(self) -> int:
        """As many as there are 64 in d; one of a width below."""
        return max(1, self.d // _D_K)


def layer(name: str, sizes: Sizes, depth: int = 0) -> nn.Module:
    """The layer of that type that stands on `depth` others of its type; only a dilated convolution depends on it."""
    return _LAYERS[name](sizes, depth)


def cell(sizes: Sizes) -> nn.RNNCellBase:
    """What the recurrent layer applies to each position: an LSTM's, with four gates of two d x d products each."""
    return nn.OptimizedLSTMCell(sizes.d)


def random_parameters(module: nn.Module, *arguments: Any) -> Any:
    """What `module.init` would give, but small normal numbers: nothing saturates, and nothing is compiled for them."""
    shapes = jax.eval_shape(module.init, jax.random.key(0), *arguments)
    return jax.tree.map(lambda leaf: 0.3 * random_vectors(*leaf.shape), shapes)


def random_vectors(*shape: int) -> Float[np.ndarray, "..."]:
    """Normal numbers, others for each shape."""
    return np.random.default_rng(shape).normal(size=shape).astype(np.float32)


class SelfAttention(nn.Module):
    """softmax(X X^T / sqrt(d_k)) X in each head: equation (1) without projections."""

    heads: int

    @nn.compact
    def __call__(self, x: Float[Array, "B n d"]) -> Float[Array, "B n d"]:
        x = _cut(x, self.heads)
        return _joined(scaled_dot_product_attention(x, Memory(x, x), jnp.ones((1, 1, 1, 1), bool))[0])


class RestrictedSelfAttention(nn.Module):
    """The same, over the `r` positions centred on each: r // 2 before it, (r - 1) // 2 after it."""

    heads: int
    r: int

    @nn.compact
    def __call__(self, x: Float[Array, "B n d"]) -> Float[Array, "B n d"]:
        mask = RestrictedMask(jnp.ones(x.shape[:2], bool), centred(self.r))
        x = _cut(x, self.heads)
        return _joined(restricted_attention(x, Memory(x, x), mask)[0])


class ProjectedSelfAttention(nn.Module):
    """Multi-head self-attention as the model has it, section 3.2.2."""

    heads: int

    @nn.compact
    def __call__(self, x: Float[Array, "B n d"]) -> Float[Array, "B n d"]:
        d, d_k = x.shape[-1], x.shape[-1] // self.heads
        attention = MultiHeadAttention(d, self.heads, d_k, d_k, use_bias=False, dropout_rate=0.0)
        return attention.attend(x, attention.memory(x), jnp.ones((1, 1, 1, 1), bool), deterministic=True)[0]


def _cut(x: Float[Array, "B n d"], heads: int) -> Float[Array, "B {heads} n d_k"]:
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


def _joined(heads: Float[Array, "B H n d_k"]) -> Float[Array, "B n d"]:
    batch, _, n, _ = heads.shape
    return heads.swapaxes(1, 2).reshape(batch, n, -1)


def _convolution(sizes: Sizes, dilation: int) -> nn.Module:
    """One-sided: a position reads itself and k - 1 others before it, `dilation` apart."""
    return nn.Conv(sizes.d, (sizes.k,), kernel_dilation=(dilation,), padding="CAUSAL")


_LAYERS: dict[str, Callable[[Sizes, int], nn.Module]] = {
    SELF_ATTENTION: lambda sizes, _: SelfAttention(sizes.heads),
    PROJECTED: lambda sizes, _: ProjectedSelfAttention(sizes.heads),
    RECURRENT: lambda sizes, _: nn.RNN(cell(sizes)),
    CONTIGUOUS: lambda sizes, _: _convolution(sizes, dilation=1),
    DILATED: lambda sizes, depth: _convolution(sizes, dilation=sizes.k**depth),
    RESTRICTED: lambda sizes, _: RestrictedSelfAttention(sizes.heads, sizes.r),
}
NAMES = tuple(_LAYERS)
