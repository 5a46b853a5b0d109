"""Laws of the batching rule: exact bounds, every pair once an epoch, batch k a function of (seed, epoch, k)."""

import itertools
import time

import jax
import numpy as np
import pytest

from transformer_jax.data.batching import Batch, BatchPlan, evaluation_batches, length_bounds, make_batch
from transformer_jax.data.encoded import EncodedCorpus, Sequences
from transformer_jax.data.vocabulary import EOS_ID, PAD_ID


def sequences_of(lengths, rng):
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = rng.integers(4, 60_000, offsets[-1]).astype(np.uint16)
    ids[offsets[1:] - 1] = EOS_ID
    return Sequences(ids, offsets)


def corpus_of(source_lengths, target_lengths, seed=7):
    rng = np.random.default_rng(seed)
    return EncodedCorpus(sequences_of(source_lengths, rng), sequences_of(target_lengths, rng))


def realistic_lengths(count, seed=3):
    """Right-skewed like sentences: mean about 29 tokens; target about 5% longer."""
    rng = np.random.default_rng(seed)
    source = np.clip(rng.gamma(2.5, 11, count), 2, 400).astype(int)
    return source, np.clip(source * rng.normal(1.05, 0.15, count), 2, 400).astype(int)


def plan_of(source_lengths, target_lengths, **settings):
    settings = {"tokens_per_batch": 640, "num_shapes": 5, "seed": 11, "max_length": 97} | settings
    return BatchPlan(np.array(source_lengths), np.array(target_lengths), **settings)


def padded_total(lengths, bounds):
    return sum(min(bound for bound in bounds if bound >= length) for length in lengths)


@pytest.mark.parametrize("seed", range(40))
def test_length_bounds_are_optimal(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 13, rng.integers(1, 40))
    values = sorted(set(lengths.tolist()))
    for num_shapes in range(1, 6):
        bounds = length_bounds(lengths, num_shapes)
        assert 1 <= len(bounds) <= num_shapes
        assert list(bounds) == sorted(set(bounds))
        candidates = itertools.combinations(values, min(num_shapes, len(values)))
        least = min(padded_total(lengths, chosen) for chosen in candidates if chosen[-1] == values[-1])
        assert padded_total(lengths, bounds) == least


def test_length_bounds_by_hand():
    # 90 of length 3, 1 of 4, 30 of 10: the 4 costs less padded to 10 than 90 threes padded to 4.
    assert length_bounds(np.repeat([3, 4, 10], [90, 1, 30]), 2) == (3, 10)
    assert length_bounds(np.repeat([3, 4, 10], [2, 1, 30]), 2) == (4, 10)
    assert length_bounds(np.array([7, 5, 7]), 9) == (5, 7)
    assert length_bounds(np.array([7, 5, 7]), 1) == (7,)


@pytest.mark.parametrize("num_shapes", [1, 2, 5, 17])
def test_every_pair_once_an_epoch_in_a_batch_that_holds_it(num_shapes):
    source, target = realistic_lengths(1999)
    plan = plan_of(source, target, num_shapes=num_shapes)
    longer = np.maximum(source, target)
    assert len(plan.shapes) <= num_shapes
    for epoch in range(3):
        seen = []
        for k in range(plan.steps_per_epoch):
            step = epoch * plan.steps_per_epoch + k
            rows, length = plan.batch_shape(step)
            indices = plan.batch_indices(step)
            assert (rows, length) in plan.shapes
            assert 1 <= len(indices) <= rows
            assert longer[indices].max() <= length
            seen += indices.tolist()
        assert sorted(seen) == np.flatnonzero(longer <= 97).tolist()


def test_shapes_fill_the_budget_in_multiples_of_8():
    plan = plan_of(*realistic_lengths(1999), tokens_per_batch=1000, num_shapes=7)
    assert plan.shapes[-1] == (8, 97)
    for rows, length in plan.shapes:
        assert rows % 8 == 0
        assert rows == 8 or rows * length <= 1000 < (rows + 8) * length
    assert [length for _, length in plan.shapes] == sorted({length for _, length in plan.shapes})


def test_a_budget_under_8_rows_still_gives_8():
    assert plan_of([50] * 9, [50] * 9, tokens_per_batch=10).shapes == ((8, 50),)


def test_leftovers_go_into_the_next_larger_bucket():
    # 16 rows of length 2, 8 of length 4. Of 20 short pairs 4 are left; with 5 long ones they make 8 + 1.
    lengths = [2] * 20 + [4] * 5
    plan = plan_of(lengths, lengths, tokens_per_batch=32)
    assert plan.shapes == ((16, 2), (8, 4))
    assert plan.steps_per_epoch == 3
    for epoch in range(4):
        steps = range(3 * epoch, 3 * epoch + 3)
        batches = sorted(
            (plan.batch_shape(step), sorted(np.array(lengths)[plan.batch_indices(step)])) for step in steps
        )
        assert batches == [((8, 4), [2, 2, 2, 2, 4, 4, 4, 4]), ((8, 4), [4]), ((16, 2), [2] * 16)]


def test_at_most_one_batch_an_epoch_is_short_and_it_has_the_longest_shape():
    plan = plan_of(*realistic_lengths(1999))
    steps = range(plan.steps_per_epoch)
    short = [step for step in steps if len(plan.batch_indices(step)) < plan.batch_shape(step)[0]]
    assert len(short) <= 1
    assert all(plan.batch_shape(step) == plan.shapes[-1] for step in short)


def test_epochs_have_the_same_shapes_in_another_order():
    plan = plan_of(*realistic_lengths(1999))
    n = plan.steps_per_epoch
    first, second = ([plan.batch_shape(epoch * n + k) for k in range(n)] for epoch in (0, 1))
    assert first != second
    assert sorted(first) == sorted(second)
    assert first != sorted(first)


def test_a_batch_depends_on_seed_and_step_alone():
    lengths = realistic_lengths(701)
    plan = plan_of(*lengths)
    steps = list(range(3 * plan.steps_per_epoch))
    in_order = [plan.batch_indices(step).tolist() for step in steps]
    again = plan_of(*lengths)
    for step in np.random.default_rng(5).permutation(steps):
        assert again.batch_indices(int(step)).tolist() == in_order[step]
    resumed = plan_of(*lengths)
    assert resumed.batch_indices(steps[-1]).tolist() == in_order[-1]
    assert [plan_of(*lengths, seed=12).batch_indices(step).tolist() for step in steps] != in_order


def test_each_epoch_mixes_anew():
    plan = plan_of([5] * 640, [5] * 640)
    n = plan.steps_per_epoch
    first, second = ([frozenset(plan.batch_indices(e * n + k).tolist()) for k in range(n)] for e in (0, 1))
    assert n == 5
    assert not set(first) & set(second)


def test_too_long_and_empty_pairs_are_dropped_and_counted():
    source = [5, 1, 98, 97, 1, 3, 200]
    target = [5, 7, 3, 97, 99, 98, 200]
    plan = plan_of(source, target)
    assert (plan.num_pairs, plan.num_empty, plan.num_too_long) == (2, 2, 3)
    kept = [i for step in range(plan.steps_per_epoch) for i in plan.batch_indices(step)]
    assert sorted(kept) == [0, 3]


@pytest.mark.parametrize(("source", "target"), [([], []), ([1, 98], [4, 98])])
def test_no_pair_left_is_a_clear_error(source, target):
    with pytest.raises(ValueError, match="no training pair is left of"):
        plan_of(np.array(source, int), np.array(target, int))


def test_padding_is_small_on_sentences():
    source, target = realistic_lengths(60_000)
    plan = plan_of(source, target, tokens_per_batch=8192, num_shapes=16, max_length=256)
    longer = np.maximum(source, target)
    positions = sum(np.prod(plan.batch_shape(step)) for step in range(plan.steps_per_epoch))
    optimum = padded_total(longer[longer <= 256], [length for _, length in plan.shapes])
    assert 1 - longer[longer <= 256].sum() / positions < 0.1
    assert positions < 1.02 * optimum  # leftovers cost little


def test_large_corpora_are_planned_quickly():
    lengths = realistic_lengths(500_000)
    start = time.perf_counter()
    plan_of(*lengths, tokens_per_batch=25_000, num_shapes=8, max_length=256).batch_indices(0)
    assert time.perf_counter() - start < 2


def test_a_batch_holds_the_pairs_in_order_then_padding():
    corpus = corpus_of([3, 1, 5, 2], [2, 4, 1, 5])
    batch = make_batch(corpus, np.array([2, 0, 3]), rows=7, length=5)
    assert isinstance(batch, Batch)
    assert batch.source.shape == batch.target.shape == (7, 5)
    assert batch.source.dtype == batch.target.dtype == np.int32
    for row, pair in enumerate([2, 0, 3]):
        for side, ids in ((batch.source, corpus.source(pair)), (batch.target, corpus.target(pair))):
            assert side[row].tolist() == ids.tolist() + [PAD_ID] * (5 - len(ids))
    assert (batch.source[3:] == PAD_ID).all()
    assert (batch.target[3:] == PAD_ID).all()


def test_a_batch_is_a_pytree():
    batch = make_batch(corpus_of([3], [2]), np.array([0]), rows=1, length=3)
    assert [leaf.shape for leaf in jax.tree.leaves(batch)] == [(1, 3), (1, 3)]


def test_a_batch_of_no_pairs_is_all_padding():
    batch = make_batch(corpus_of([3], [2]), np.array([], int), rows=3, length=5)
    assert not batch.source.any()
    assert not batch.target.any()


def test_what_does_not_fit_is_an_error():
    corpus = corpus_of([3, 2], [2, 7])
    with pytest.raises(ValueError, match="2 pairs do not fit into 1 rows"):
        make_batch(corpus, np.array([0, 1]), rows=1, length=7)
    with pytest.raises(ValueError, match="a sequence of 7 tokens does not fit into a batch of length 5"):
        make_batch(corpus, np.array([0, 1]), rows=2, length=5)


def test_the_plans_batches_hold_its_pairs():
    source, target = realistic_lengths(211)
    corpus, plan = corpus_of(source, target), plan_of(source, target)
    for step in range(2 * plan.steps_per_epoch):
        batch = plan.batch(corpus, step)
        assert batch.source.shape == plan.batch_shape(step)
        for row, pair in enumerate(plan.batch_indices(step).tolist()):
            assert batch.source[row][batch.source[row] != PAD_ID].tolist() == corpus.source(pair).tolist()
            assert batch.target[row][batch.target[row] != PAD_ID].tolist() == corpus.target(pair).tolist()


@pytest.mark.parametrize("num_shapes", [1, 3])
def test_evaluation_has_every_pair_once_also_empty_and_very_long_ones(num_shapes):
    source, target = realistic_lengths(307)
    source[[5, 17]], target[[5, 23]] = 1, 1
    source[101] = 1009
    corpus = corpus_of(source, target)
    seen, longest, shapes = [], 0, set()
    for indices, batch in evaluation_batches(corpus, tokens_per_batch=2048, num_shapes=num_shapes):
        shapes.add(batch.source.shape)
        for row, pair in enumerate(indices.tolist()):
            assert batch.source[row][batch.source[row] != PAD_ID].tolist() == corpus.source(pair).tolist()
            assert batch.target[row][batch.target[row] != PAD_ID].tolist() == corpus.target(pair).tolist()
            assert max(source[pair], target[pair]) >= longest
            longest = max(source[pair], target[pair])
        assert not batch.source[len(indices) :].any()
        assert not batch.target[len(indices) :].any()
        seen += indices.tolist()
    assert sorted(seen) == list(range(307))
    assert len(shapes) <= num_shapes
    assert all(rows % 8 == 0 for rows, _ in shapes)
