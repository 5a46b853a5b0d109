"""Laws of a plan, for any lengths, budget, seed and number of processes and devices."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tiny_experiment import encoded

from transformer_jax import parallel
from transformer_jax.data.batching import BatchPlan
from transformer_jax.data.encoded import EncodedCorpus

MAX_LENGTH = 12
lengths = st.integers(0, MAX_LENGTH + 3) | st.sampled_from([0, 1, 1000])
some_pairs = st.lists(st.tuples(lengths, lengths), max_size=60)
settings = st.fixed_dictionaries(
    {
        "tokens_per_batch": st.integers(MAX_LENGTH, 10 * MAX_LENGTH),
        "num_shapes": st.integers(1, 6),
        "seed": st.integers(0, 3),
        "max_length": st.just(MAX_LENGTH),
    }
)


def plan_of(pairs, settings):
    """One pair more, so that one is always kept."""
    source, target = np.array([*pairs, (3, 5)], np.int32).T
    return BatchPlan(source, target, **settings)


def is_kept(pair):
    return min(pair) >= 2 and max(pair) <= MAX_LENGTH


@given(some_pairs, settings)
def test_every_pair_that_is_kept_is_in_one_batch_an_epoch(pairs, settings):
    plan = plan_of(pairs, settings)
    pairs = [*pairs, (3, 5)]
    kept = [i for i, pair in enumerate(pairs) if is_kept(pair)]
    for epoch in range(2):
        steps = range(epoch * plan.steps_per_epoch, (epoch + 1) * plan.steps_per_epoch)
        assert sorted(pair for step in steps for pair in plan.batch_indices(step).tolist()) == kept
    assert plan.num_pairs == len(kept)
    assert plan.num_empty == sum(min(pair) < 2 for pair in pairs)
    assert plan.num_pairs + plan.num_empty + plan.num_too_long == len(pairs)


@given(some_pairs, settings)
def test_batches_fit_their_shapes_and_shapes_the_budget(pairs, settings):
    plan = plan_of(pairs, settings)
    pairs = np.array([*pairs, (3, 5)])
    assert len(set(plan.shapes)) == len(plan.shapes) <= settings["num_shapes"]
    short = []
    for step in range(plan.steps_per_epoch):
        rows, *sides = shape = plan.batch_shape(step)
        assert shape in plan.shapes
        assert rows * max(sides) <= settings["tokens_per_batch"]
        indices = plan.batch_indices(step)
        assert 1 <= len(indices) <= rows
        assert (pairs[indices] <= sides).all()
        if len(indices) < rows:
            short.append(shape)
    assert short in ([], [plan.shapes[-1]])


@given(some_pairs, settings, st.data())
def test_a_batch_is_a_function_of_the_step(pairs, settings, data):
    """Asked for in any order, or the first that is asked for, as in a resumed run."""
    plan = plan_of(pairs, settings)
    steps = range(3 * plan.steps_per_epoch)
    in_order = [(plan.batch_shape(step), plan.batch_indices(step).tolist()) for step in steps]
    resumed = plan_of(pairs, settings)
    for step in data.draw(st.lists(st.sampled_from(steps), min_size=1, max_size=5)):
        assert (resumed.batch_shape(step), resumed.batch_indices(step).tolist()) == in_order[step]


def corpus_of(pairs):
    """All ids of a pair tell which it is."""
    sides = zip(*pairs, strict=True)
    return EncodedCorpus(*(encoded([[4 + i] * (n - 1) for i, n in enumerate(side)]) for side in sides))


@given(some_pairs, settings, st.integers(1, 9), st.integers(1, 5), st.integers(1, 99))
def test_a_device_has_the_same_rows_whatever_its_process(pairs, settings, num_processes, devices, tokens_per_device):
    plan = plan_of(pairs, settings)
    corpus = corpus_of([(max(s, 1), max(t, 1)) for s, t in [*pairs, (3, 5)]])
    for step in range(plan.steps_per_epoch):
        whole = plan.batch(corpus, step)
        expected = parallel.shard(whole, devices=num_processes * devices, tokens_per_device=tokens_per_device)
        rows, *lengths = plan.batch_shape(step)
        division = parallel.divide(
            rows, max(lengths), tokens_per_device=tokens_per_device, devices=devices, processes=num_processes
        )
        shares = [plan.batch(corpus, step, division.share(process)) for process in range(num_processes)]
        for side, of_each in zip(whole, zip(*shares, strict=True), strict=True):
            np.testing.assert_array_equal(np.concatenate(of_each), side)
        shards = [division.shards(share) for share in shares]
        for of_all, of_each in zip(expected, zip(*shards, strict=True), strict=True):
            np.testing.assert_array_equal(np.concatenate(of_each), of_all)
