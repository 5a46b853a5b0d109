"""Sharding a batch over devices and micro-batches, values that all devices share, and work for each of them."""

import itertools
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from process_worker import ends_well, free_address, start

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


def test_each_device_has_its_own_copy():
    copies = parallel.copies({"a": np.arange(3.0)})
    assert list(copies) == jax.local_devices()
    for device, copy in copies.items():
        assert copy["a"].devices() == {device}
        np.testing.assert_array_equal(copy["a"], [0.0, 1.0, 2.0])


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 41])
def test_work_is_given_back_in_order_however_long_each_takes(count):
    """The first of every three waits for the one after it, if there is one."""
    finished = [threading.Event() for _ in range(count)]

    def work(item, _device):
        if item % 3 == 0 and item + 1 < count:
            assert finished[item + 1].wait(30)
        finished[item].set()
        return item * item

    assert list(parallel.on_each_device(work, range(count))) == [item * item for item in range(count)]


def test_all_devices_work_at_once_each_on_one_item():
    """Eight meet at a barrier, where any fewer would wait for ever; values land on the device that is given."""
    together, lock, busy = threading.Barrier(8), threading.Lock(), set()

    def work(item, device):
        with lock:
            assert device not in busy
            busy.add(device)
        together.wait(30)
        assert jnp.zeros(()).devices() == {device}
        with lock:
            busy.remove(device)
        return item, device

    results = list(parallel.on_each_device(work, range(24)))
    assert [item for item, _ in results] == list(range(24))
    assert {device for _, device in results} == set(jax.local_devices())


def test_items_are_asked_for_as_they_are_needed():
    """There is no end of them; no more are taken than one for each device and one that waits."""
    taken = []

    def items():
        for item in itertools.count():
            taken.append(item)
            yield item

    results = parallel.on_each_device(lambda item, _: item, items())
    for expected in range(30):
        assert next(results) == expected
        assert len(taken) <= expected + 1 + 8 + 1
    results.close()
    assert len(taken) <= 30 + 8 + 1


def test_what_goes_wrong_is_told_in_its_place():
    def work(item, _device):
        if item % 10 == 5:
            raise ValueError(f"item {item}")
        return item

    results = parallel.on_each_device(work, range(100))
    assert list(itertools.islice(results, 5)) == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="item 5"):
        next(results)
    assert list(results) == []


def test_an_item_that_cannot_be_had_is_told():
    def items():
        yield 1
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        list(parallel.on_each_device(lambda item, _: item, items()))


def test_a_process_that_is_alone_agrees_with_itself_at_once():
    agreed = parallel.Agreement()
    assert [agreed(asked) for asked in (False, True, False)] == [False, True, False]
    assert parallel.from_all(np.array([7, -(2**40)])).tolist() == [[7, -(2**40)]]
    tree = {"a": np.ones(3)}
    assert parallel.from_first(tree) is tree
    assert (parallel.num_processes(), parallel.process_index()) == (1, 0)


TOLD = """
import sys
import numpy as np
from transformer_jax import parallel

process = int(sys.argv[2])
parallel.initialize(sys.argv[1], 2, process)
parallel.meet("here")
own = [np.float32([-0.0, 1.5, np.nan]), np.int32(-7)] if process == 0 else [np.full(3, 8, np.float32), np.int32(9)]
floats, number = parallel.from_first(own)
print(floats.tobytes() == np.float32([-0.0, 1.5, np.nan]).tobytes(), number.dtype, number)
print(parallel.from_all(np.array([process + 2**40, -process])).tolist())
agreed = parallel.Agreement()
print([agreed(process == 1 and step == 3) for step in range(7)])
print(parallel.num_processes(), parallel.process_index(), parallel.num_devices())
parallel.finish()
"""


def test_processes_tell_each_other(tmp_path):
    """Bit for bit; and what one of two asks for after its step 3 both do after step 5."""
    address = free_address()
    commands = [["-c", TOLD, address, str(process)] for process in (0, 1)]
    said = ends_well([start(command, devices=2, compiled=tmp_path) for command in commands])
    for process, out in enumerate(said):
        assert [line for line in out.splitlines() if "Gloo" not in line] == [
            "True int32 -7",
            f"[[{2**40}, 0], [{2**40 + 1}, -1]]",
            f"{[False] * 5 + [True, False]}",
            f"2 {process} 2",
        ]
