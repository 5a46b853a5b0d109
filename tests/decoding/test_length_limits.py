"""How long hypotheses may be, by hand."""

import dataclasses

import numpy as np
import pytest
from tiny_experiment import tiny_experiment

from transformer_jax.decoding.length_limits import length_limits

SOURCES = np.array([1, 2, 7, 30])


@pytest.mark.parametrize(
    ("ratio", "extra", "min_ratio", "prefix", "least", "most"),
    [
        (1.0, 50, 0.0, 0, [0, 0, 0, 0], [40, 40, 40, 40]),  # the model ends at 40
        (1.0, 5, 0.0, 0, [0, 0, 0, 0], [6, 7, 12, 35]),
        (0.0, 9, 0.0, 0, [0, 0, 0, 0], [9, 9, 9, 9]),
        (1.5, 0, 0.0, 0, [0, 0, 0, 0], [1, 3, 10, 40]),
        (0.0, 0, 0.0, 0, [0, 0, 0, 0], [1, 1, 1, 1]),  # the end token has room
        (1.0, 5, 0.5, 0, [1, 1, 4, 15], [6, 7, 12, 35]),
        (1.0, 1, 3.0, 0, [1, 2, 7, 30], [2, 3, 8, 31]),  # and so has it after the least
        (1.0, 0, 0.0, [0, 4, 3, 45], [0, 0, 0, 0], [1, 5, 7, 40]),  # a prefix and one token more
    ],
)
def test_limits_by_hand(ratio, extra, min_ratio, prefix, least, most):
    rules = {"max_length_ratio": ratio, "max_extra_length": extra, "min_length_ratio": min_ratio}
    decoding = dataclasses.replace(tiny_experiment().decoding, **rules)
    limits = length_limits(SOURCES, decoding, longest=40, prefix_lengths=np.resize(prefix, 4))
    assert (limits.least.tolist(), limits.most.tolist()) == (least, most)
