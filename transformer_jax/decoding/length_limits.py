"""How long the hypotheses of a source may be, section 6.1: the paper's "input length + 50", or another rule."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Int, Integer

from transformer_jax import config


class LengthLimits(NamedTuple):
    """Of the hypotheses of each sentence, in tokens."""

    least: Int[np.ndarray, "B"]  # before the end token
    most: Int[np.ndarray, "B"]  # the end token included


def length_limits(
    source_lengths: Integer[np.ndarray, "B"],
    decoding: config.Decoding,
    *,
    longest: int,
    prefix_lengths: Integer[np.ndarray, "B"] | int = 0,
) -> LengthLimits:
    """The limits of sources of so many tokens, the end token included.

    A prefix and one token more always fit, as far as `longest`, the model's own limit, allows; and the least leaves
    room for the end token.
    """
    most = np.floor(source_lengths * decoding.max_length_ratio) + decoding.max_extra_length
    most = np.clip(np.maximum(most, prefix_lengths + 1), 1, longest)
    least = np.minimum(np.ceil(source_lengths * decoding.min_length_ratio), most - 1)
    return LengthLimits(least.astype(np.int32), most.astype(np.int32))
