"""Which row of the paper's Table 1 each of our layer types is in, and what it says of its cost."""

import re

from experiments import paper
from transformer_jax.analysis.complexity import layers

_ROWS = {
    layers.SELF_ATTENTION: "self-attention",
    layers.PROJECTED: "self-attention",
    layers.RECURRENT: "recurrent",
    layers.CONTIGUOUS: "convolutional",
    layers.DILATED: "convolutional",
    layers.RESTRICTED: "self-attention (restricted)",
}
_FACTOR = re.compile(r"([a-z])(?:\^(\d+))?")


def paper_row(name: str) -> paper.LayerType:
    """The layer type's; the two kinds of self-attention share one, and so do those of convolution."""
    return paper.TABLE_1[_ROWS[name]]


def paper_path(name: str) -> str:
    """Of convolutions without gaps section 4 has its own."""
    if name == layers.CONTIGUOUS:
        return paper.PATH_OF_CONTIGUOUS_CONVOLUTIONS
    return paper_row(name).maximum_path_length


def paper_exponents(name: str) -> dict[str, int]:
    """Size -> its exponent in the complexity per layer: of "O(n^2 * d)", {"n": 2, "d": 1}."""
    complexity = paper_row(name).complexity_per_layer
    return {size: int(exponent or 1) for size, exponent in _FACTOR.findall(complexity.removeprefix("O"))}
