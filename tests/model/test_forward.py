"""The whole forward pass against the NumPy model, which reads one sentence at a time, without padding or masks."""

import jax
import jax.numpy as jnp
import numpy as np
import numpy_oracle as oracle

from transformer_jax.model.transformer import shift_right

SOURCES = [[7, 11, 5, 29, 2], [3, 36, 2], [2]]
TARGETS = [[13, 4, 2], [31, 8, 8, 17, 5, 23, 2], [19, 2]]


def padded(sentences: list[list[int]]) -> jnp.ndarray:
    length = max(map(len, sentences))
    return jnp.array([sentence + [0] * (length - len(sentence)) for sentence in sentences])


def test_logits_are_those_of_the_numpy_model(variant, build):
    model, variables = build(variant)
    forward = jax.jit(lambda source, target: model.apply(variables, source, target, deterministic=True))
    logits = forward(padded(SOURCES), padded(TARGETS))
    for ours, source, target in zip(logits, SOURCES, TARGETS, strict=True):
        theirs = oracle.transformer(variant, variables["params"], source, target)
        np.testing.assert_allclose(ours[: len(target)], theirs, atol=1e-5)


def test_the_decoder_reads_the_target_one_position_late_after_the_begin_token():
    target = jnp.array([[13, 4, 2, 0, 0], [31, 8, 17, 5, 2]])
    np.testing.assert_array_equal(shift_right(target), [[1, 13, 4, 2, 0], [1, 31, 8, 17, 5]])
