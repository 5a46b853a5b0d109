"""Sharding a batch over devices and micro-batches, and the values that all devices share."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer_jax import parallel

sizes = st.integers(1, 40)


sides = st.tuples(sizes, sizes)


def ids(rows, lengths):
    return [np.arange(1, rows * length + 1, dtype=np.int32).reshape(rows, length) for length in lengths]


@given(rows=sizes, lengths=sides, devices=st.integers(1, 8), tokens_per_device=st.integers(1, 300))
def test_shards_hold_every_row_once_and_padding_beside(rows, lengths, devices, tokens_per_device):
    batch = ids(rows, lengths)
    shards = parallel.shard(batch, devices=devices, tokens_per_device=tokens_per_device)
    for shard, leaf in zip(shards, batch, strict=True):
        flat = shard.reshape(-1, leaf.shape[1])
        assert shard.shape[0] == devices
        assert shard.dtype == leaf.dtype
        np.testing.assert_array_equal(flat[:rows], leaf)
        assert (flat[rows:] == 0).all()


@given(rows=sizes, lengths=sides, devices=st.integers(1, 8), tokens_per_device=st.integers(1, 300))
def test_micro_batches_fit_a_device_and_are_no_more_than_they_must(rows, lengths, devices, tokens_per_device):
    shards = parallel.shard(ids(rows, lengths), devices=devices, tokens_per_device=tokens_per_device)
    ((_, accumulation, rows_at_a_time),) = {shard.shape[:3] for shard in shards}
    assert rows_at_a_time * max(lengths) <= tokens_per_device or rows_at_a_time == 1
    fit = max(tokens_per_device // max(lengths), 1)
    assert devices * (accumulation - 1) * fit < rows, "one micro-batch less would not hold every row"
    assert accumulation * rows_at_a_time - -(-rows // devices) < accumulation, "padding is less than a row each"


@pytest.mark.parametrize(
    ("rows", "lengths", "expected"),
    [(13, (7, 3), (2, 2, 4)), (1, (100, 1), (2, 1, 1)), (16, (2, 5), (2, 2, 4)), (3, (31, 31), (2, 2, 1))],
)
def test_shapes_by_hand(rows, lengths, expected):
    """Two devices that take 30 tokens of the longer side at a time, or one row."""
    shards = parallel.shard(ids(rows, lengths), devices=2, tokens_per_device=30)
    assert [shard.shape for shard in shards] == [(*expected, length) for length in lengths]


def test_a_step_on_all_devices_sums_over_them():
    def step(state, shard):
        return parallel.all_reduce({"sum": state * shard.sum(), "index": parallel.device_index()})

    shards = np.arange(24.0).reshape(8, 3)
    result = parallel.on_all_devices(step, donate_state=False)(jnp.array(2.0), shards)
    assert jax.tree.map(float, result) == {"sum": 2 * shards.sum(), "index": sum(range(8))}


def test_a_donated_state_is_used_up_and_another_is_not():
    def step(state, shard):
        return state + parallel.all_reduce(shard.sum())

    shards = np.ones((8, 3), np.float32)
    for donate in (True, False):
        state = parallel.replicate(jnp.zeros(5))
        new = parallel.on_all_devices(step, donate_state=donate)(state, shards)
        np.testing.assert_array_equal(new, np.full(5, 24.0))
        assert state.is_deleted() == donate


def test_replicated_values_lie_on_every_device():
    replicated = parallel.replicate({"a": np.arange(3.0)})["a"]
    assert len(replicated.devices()) == parallel.num_devices() == 8
    assert replicated.is_fully_replicated
    np.testing.assert_array_equal(replicated, [0.0, 1.0, 2.0])
