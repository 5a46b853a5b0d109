"""N equal layers, one after another."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from transformer_jax.config import Rematerialise

Extra = TypeVar("Extra")

# What of a layer is kept from the forward pass for the backward pass.
_KEPT: dict[Rematerialise, Callable[..., bool]] = {
    "elementwise": jax.checkpoint_policies.dots_with_no_batch_dims_saveable,
    "layers": jax.checkpoint_policies.nothing_saveable,
}


def apply_layers(
    layers: Sequence[nn.Module],
    apply: Callable[[nn.Module, Array], tuple[Array, Extra]],
    x: Float[Array, "B T D"],
    *,
    dropout_key: Array | None,
    rematerialise: Rematerialise,
) -> tuple[Float[Array, "B T D"], Extra]:
    """x after `x, extra = apply(layer, x)` for each layer; and the extras, along a new first axis.

    The layers are bound and equal but for their parameters.

    Where something is computed again they are scanned: compiled as one, with their parameters stacked, and dropout's
    keys split from `dropout_key`. Without a scan XLA on CPUs would see that it has been computed before, and keep it.
    Where nothing is, they are unrolled: a scan copies what it keeps, which takes a CPU time.
    """
    if rematerialise == "nothing" or layers[0].is_initializing():
        extras = []
        for layer in layers:
            x, extra = apply(layer, x)
            extras.append(extra)
        return x, _stacked(extras)
    return _scanned(layers, apply, x, dropout_key, _KEPT[rematerialise])


def _scanned(
    layers: Sequence[nn.Module],
    apply: Callable[[nn.Module, Array], tuple[Array, Extra]],
    x: Array,
    dropout_key: Array | None,
    kept: Callable[..., bool],
) -> tuple[Array, Extra]:
    layer = nn.apply(apply, layers[0].clone(parent=None))

    def body(x: Array, inputs: tuple[Any, Array | None]) -> tuple[Array, Extra]:
        variables, key = inputs
        return layer(variables, x, rngs=None if key is None else {"dropout": key})

    keys = None if dropout_key is None else jax.random.split(dropout_key, len(layers))
    body = jax.checkpoint(body, policy=kept, prevent_cse=False)  # a scan computes its body apart in any case
    return jax.lax.scan(body, x, (_stacked([layer.variables for layer in layers]), keys))


def _stacked(trees: Sequence[Any]) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
