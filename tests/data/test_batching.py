"""The batching rule by hand: what a batch holds, how leftovers go on, what is dropped, and what evaluation sees."""

import jax
import numpy as np
import pytest
from tiny_experiment import encoded

from transformer_jax.data.batching import Batch, BatchPlan, evaluation_batches, make_batch
from transformer_jax.data.encoded import EncodedCorpus, Sequences
from transformer_jax.special_ids import PAD_ID


def corpus_of(source_lengths, target_lengths):
    rng = np.random.default_rng(7)

    def side(lengths):
        return encoded([rng.integers(4, 60_000, length - 1).tolist() for length in lengths])

    return EncodedCorpus(side(source_lengths), side(target_lengths))


def lengths_of(count):
    """Of 2 to 97 tokens and a few longer ones, the target's near the source's."""
    rng = np.random.default_rng(3)
    source = np.clip(rng.gamma(2.5, 11, count), 2, 400).astype(np.int32)
    return source, np.clip(source * rng.normal(1.05, 0.15, count), 2, 400).astype(np.int32)


def plan_of(source_lengths, target_lengths, **settings):
    settings = {"tokens_per_batch": 640, "num_shapes": 5, "seed": 11, "max_length": 97} | settings
    return BatchPlan(np.array(source_lengths, np.int32), np.array(target_lengths, np.int32), **settings)


def test_leftovers_go_into_the_next_larger_shape():
    # 16 rows of 2 and 1, 8 of 3 and 4. Of 20 short pairs 4 are left; with 5 long ones they make 8 + 1.
    source, target = [2] * 20 + [3] * 5, [2] * 20 + [4] * 5
    plan = plan_of(source, target, tokens_per_batch=32, max_length=4)
    assert plan.shapes == ((16, 2, 2), (8, 3, 4))
    assert plan.steps_per_epoch == 3
    for epoch in range(4):
        steps = range(3 * epoch, 3 * epoch + 3)
        batches = sorted(
            (plan.batch_shape(step), sorted(np.array(target)[plan.batch_indices(step)].tolist())) for step in steps
        )
        assert batches == [((8, 3, 4), [2, 2, 2, 2, 4, 4, 4, 4]), ((8, 3, 4), [4]), ((16, 2, 2), [2] * 16)]


def test_epochs_have_the_same_shapes_in_another_order():
    plan = plan_of(*lengths_of(1999))
    n = plan.steps_per_epoch
    first, second = ([plan.batch_shape(epoch * n + k) for k in range(n)] for epoch in (0, 1))
    assert first != second
    assert sorted(first) == sorted(second)
    assert first != sorted(first)


def test_each_epoch_mixes_anew():
    plan = plan_of([5] * 640, [5] * 640)
    n = plan.steps_per_epoch
    first, second = ([frozenset(plan.batch_indices(e * n + k).tolist()) for k in range(n)] for e in (0, 1))
    assert n == 5
    assert not set(first) & set(second)


def test_another_seed_is_another_order():
    orders = [
        [plan.batch_indices(step).tolist() for step in range(plan.steps_per_epoch)]
        for plan in (plan_of(*lengths_of(701), seed=seed) for seed in (11, 12, 11))
    ]
    assert orders[0] == orders[2] != orders[1]


def test_too_long_and_empty_pairs_are_dropped_and_counted():
    source = [5, 1, 98, 97, 1, 3, 200, 0]
    target = [5, 7, 3, 97, 99, 98, 200, 5]
    plan = plan_of(source, target)
    assert (plan.num_pairs, plan.num_empty, plan.num_too_long) == (2, 3, 3)
    kept = [i for step in range(plan.steps_per_epoch) for i in plan.batch_indices(step).tolist()]
    assert sorted(kept) == [0, 3]


@pytest.mark.parametrize(("source", "target"), [([], []), ([1, 98], [4, 98])])
def test_no_pair_left_is_a_clear_error(source, target):
    with pytest.raises(ValueError, match="no training pair is left of"):
        plan_of(source, target)


def test_pairs_that_a_batch_cannot_hold_are_an_error():
    with pytest.raises(ValueError, match=r"^max_length = 97: must be at most tokens_per_batch = 96$"):
        plan_of([5], [5], tokens_per_batch=96)
    assert plan_of([97], [5], tokens_per_batch=97).shapes == ((1, 97, 5),)


def test_leftovers_cost_little():
    """What a plan pads beyond what its shapes make each pair pad."""
    source, target = lengths_of(60_000)
    plan = plan_of(source, target, tokens_per_batch=8192, num_shapes=16, max_length=256)
    kept = np.maximum(source, target) <= 256
    in_shapes = np.min(
        [np.where((source > S) | (target > T), 512, S + T)[kept] for _, S, T in plan.shapes], axis=0
    ).sum()
    shapes = [plan.batch_shape(step) for step in range(plan.steps_per_epoch)]
    assert in_shapes <= sum(rows * (S + T) for rows, S, T in shapes) < 1.02 * in_shapes


def test_a_batch_holds_the_pairs_in_order_then_padding():
    corpus = corpus_of([3, 1, 5, 2], [2, 4, 1, 6])
    batch = make_batch(corpus, np.array([2, 0, 3]), (7, 5, 11))
    assert isinstance(batch, Batch)
    assert (batch.source.shape, batch.target.shape) == ((7, 5), (7, 11))
    for side, ids_of in ((batch.source, corpus.source), (batch.target, corpus.target)):
        assert side.dtype == np.int32
        for row, pair in zip(side, (2, 0, 3), strict=False):
            ids = ids_of(pair).tolist()
            assert row.tolist() == ids + [PAD_ID] * (len(row) - len(ids))
        assert (side[3:] == PAD_ID).all()


def test_a_batch_is_a_pytree():
    batch = make_batch(corpus_of([3], [2]), np.array([0]), (1, 3, 2))
    assert [leaf.shape for leaf in jax.tree.leaves(batch)] == [(1, 3), (1, 2)]


def test_the_plans_batches_hold_its_pairs():
    lengths = lengths_of(211)
    corpus, plan = corpus_of(*lengths), plan_of(*lengths)
    for step in range(2 * plan.steps_per_epoch):
        batch = plan.batch(corpus, step)
        rows, source, target = plan.batch_shape(step)
        assert (batch.source.shape, batch.target.shape) == ((rows, source), (rows, target))
        for row, pair in enumerate(plan.batch_indices(step).tolist()):
            assert batch.source[row][batch.source[row] != PAD_ID].tolist() == corpus.source(pair).tolist()
            assert batch.target[row][batch.target[row] != PAD_ID].tolist() == corpus.target(pair).tolist()


def test_a_process_reads_its_own_rows_alone(monkeypatch):
    lengths = [2] * 13, [3] * 13
    corpus, plan = corpus_of(*lengths), plan_of(*lengths, tokens_per_batch=26, max_length=3)
    read, whole = [], Sequences.padded

    def padded(self, indices, *shape):
        read.append(indices.tolist())
        return whole(self, indices, *shape)

    monkeypatch.setattr(Sequences, "padded", padded)
    step = next(step for step in range(2) if len(plan.batch_indices(step)) == 8)
    pairs = plan.batch_indices(step).tolist()
    for share, own in ((slice(3), pairs[:3]), (slice(3, 6), pairs[3:6]), (slice(6, 9), pairs[6:]), (slice(9, 12), [])):
        read.clear()
        assert plan.batch(corpus, step, share).target.shape == (len(own), 3)
        assert read == [own, own]


@pytest.mark.parametrize("num_shapes", [1, 3])
def test_evaluation_has_every_pair_once_also_empty_and_very_long_ones(num_shapes):
    source, target = lengths_of(307)
    source[[5, 17]], target[[5, 23]] = 1, 1
    source[101] = 1009
    corpus = corpus_of(source, target)
    seen, shapes = [], []
    for indices, (sources, targets) in evaluation_batches(corpus, tokens_per_batch=640, num_shapes=num_shapes):
        shapes.append((*sources.shape, targets.shape[1]))
        for row, pair in enumerate(indices.tolist()):
            assert sources[row][sources[row] != PAD_ID].tolist() == corpus.source(pair).tolist()
            assert targets[row][targets[row] != PAD_ID].tolist() == corpus.target(pair).tolist()
        assert not sources[len(indices) :].any()
        assert not targets[len(indices) :].any()
        seen += indices.tolist()
    assert sorted(seen) == list(range(307))
    assert len(set(shapes)) <= num_shapes
    assert [lengths for _, *lengths in shapes] == sorted(lengths for _, *lengths in shapes)
    assert all(rows * max(lengths) <= 640 or rows == 1 for rows, *lengths in shapes)
    assert shapes[-1][:2] == (1, 1009)
