"""Masks as values: True = may attend."""

import jax.numpy as jnp
import numpy as np

from transformer_jax.model.masks import causal_mask, padding_mask, past_mask


def test_padding_mask_hides_the_pad_id_and_nothing_else():
    mask = padding_mask(jnp.array([[5, 1, 2, 3, 0], [0, 0, 0, 0, 0]]))
    np.testing.assert_array_equal(mask, [[[[1, 1, 1, 1, 0]]], [[[0, 0, 0, 0, 0]]]])
    assert mask.dtype == bool


def test_causal_mask_shows_a_position_itself_and_what_is_before_it():
    np.testing.assert_array_equal(causal_mask(3)[0, 0], [[1, 0, 0], [1, 1, 0], [1, 1, 1]])


def test_past_mask_is_a_row_of_the_causal_mask():
    for position in range(5):
        np.testing.assert_array_equal(past_mask(5, jnp.array(position))[0, 0, 0], causal_mask(5)[0, 0, position])
