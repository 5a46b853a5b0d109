"""Masks as values: True = may attend."""

import jax.numpy as jnp
import numpy as np

from transformer_jax.model.masks import RestrictedMask, causal_mask, centred, history_mask, padding_mask, trailing


def test_padding_mask_hides_the_pad_id_and_nothing_else():
    mask = padding_mask(jnp.array([[5, 1, 2, 3, 0], [0, 0, 0, 0, 0]]))
    np.testing.assert_array_equal(mask, [[[[1, 1, 1, 1, 0]]], [[[0, 0, 0, 0, 0]]]])
    assert mask.dtype == bool


def test_causal_mask_shows_a_position_itself_and_what_is_before_it():
    np.testing.assert_array_equal(causal_mask(3)[0, 0], [[1, 0, 0], [1, 1, 0], [1, 1, 1]])


def test_history_mask_by_hand():
    """Two beams, three positions of two lanes each, seen from position 1. The second hypothesis came from lane 0."""
    lanes = jnp.array([[[0, 0, 1], [0, 1, 1]]])
    first, second = [1, 0, 1, 0, 0, 0], [1, 0, 0, 1, 0, 0]
    mask = history_mask(lanes, jnp.array(1))
    np.testing.assert_array_equal(mask, [[[first, second]]])
    assert mask.dtype == bool


def test_history_mask_shows_one_lane_of_each_position_so_far():
    """Whatever stands in the lanes of positions to come."""
    lanes = np.random.default_rng(1).integers(0, 3, (5, 3, 7))
    for position in range(7):
        mask = np.asarray(history_mask(jnp.asarray(lanes), jnp.array(position))).reshape(5, 3, 7, 3)
        assert (mask[:, :, : position + 1].sum(-1) == 1).all()
        np.testing.assert_array_equal(mask[:, :, : position + 1].argmax(-1), lanes[:, :, : position + 1])
        assert not mask[:, :, position + 1 :].any()


def test_history_mask_of_one_beam_is_a_row_of_the_causal_mask():
    for position in range(5):
        mask = history_mask(jnp.zeros((1, 1, 5), jnp.int32), jnp.array(position))
        np.testing.assert_array_equal(mask[0, 0, 0], causal_mask(5)[0, 0, position])


def test_a_neighbourhood_by_hand():
    """Of an even number of positions one more stands before the own one."""
    visible = jnp.array([[True, True, True, False]])
    np.testing.assert_array_equal(
        RestrictedMask(visible, centred(2)).in_full(), [[[[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 0]]]]
    )
    np.testing.assert_array_equal(
        RestrictedMask(visible, centred(3)).in_full(), [[[[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 1, 0]]]]
    )
    np.testing.assert_array_equal(
        RestrictedMask(visible, trailing(3)).in_full(), [[[[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0]]]]
    )


def test_history_mask_of_a_neighbourhood_is_a_row_of_its_mask():
    everywhere = RestrictedMask(jnp.ones((1, 5), bool), trailing(2)).in_full()
    for position in range(5):
        mask = history_mask(jnp.zeros((1, 1, 5), jnp.int32), jnp.array(position), 2)
        np.testing.assert_array_equal(mask[0, 0, 0], everywhere[0, 0, position])
