"""What a run measures between two records, when it is out of patience, and when a checkpoint is due."""

import math

import numpy as np
import pytest
from tiny_experiment import random_corpus, tiny_experiment

from transformer_jax.data.batching import Batch
from transformer_jax.data.shapes import Shape
from transformer_jax.special_ids import PAD_ID
from transformer_jax.training import dev_loss, loop
from transformer_jax.training.loop import batch_plan, out_of_patience
from transformer_jax.training.loss import Sums
from transformer_jax.training.step import StepMetrics
from transformer_jax.training.window import NotFiniteError, Window

EXPERIMENT = tiny_experiment()


def metrics(loss: float, nll: float, tokens: float, norm: float) -> StepMetrics:
    return StepMetrics(Sums(np.float32(loss), np.float32(nll), np.float32(tokens)), np.float32(norm))


def batch(rows: int, source: int, target: int) -> Batch:
    """The last position of each source is padding."""
    sources = np.ones((rows, source), np.int32)
    sources[:, -1] = PAD_ID
    return Batch(sources, np.ones((rows, target), np.int32))


def test_a_window_divides_sums_by_sums():
    """A mean of the two updates' means, 2.0 and 4.0, would be 3.0."""
    window = Window()
    window.add(7, metrics(20.0, 10.0, 10.0, 0.5), batch(3, 5, 7))
    window.add(8, metrics(120.0, 90.0, 30.0, 0.25), batch(7, 11, 13))
    record = window.record(EXPERIMENT, epoch=0.5)
    assert (record["kind"], record["step"], record["epoch"]) == ("train", 8, 0.5)
    assert (record["loss"], record["negative_log_likelihood"]) == (140 / 40, 100 / 40)
    assert (record["gradient_norm"], record["target_tokens_per_update"]) == (0.25, 20.0)
    source_tokens = 3 * 4 + 7 * 10
    assert record["source_tokens_per_update"] == source_tokens / 2
    assert record["padding_share"] == 1 - (source_tokens + 40) / (3 * (5 + 7) + 7 * (11 + 13))


def test_a_windows_checksum_is_of_the_batches_in_order():
    def checksum(*batches: Batch) -> int:
        window = Window()
        for part in batches:
            window.add(1, metrics(1.0, 1.0, 1.0, 1.0), part)
        return window.record(EXPERIMENT, epoch=8.0)["batches_crc32"]

    a, b = batch(3, 5, 5), batch(3, 5, 5)._replace(target=np.full((3, 5), 2, np.int32))
    assert checksum(a, b) == checksum(a, b)
    assert len({checksum(a, b), checksum(b, a), checksum(a), checksum(a, a), checksum(b)}) == 5


@pytest.mark.parametrize(("loss", "norm"), [(math.nan, 1.0), (math.inf, 1.0), (1.0, math.inf), (1.0, math.nan)])
def test_the_first_step_that_is_not_finite_is_named(loss, norm):
    window = Window()
    for step in (5, 6, 7, 8):
        bad = step in (6, 8)
        window.add(step, metrics(loss if bad else 1.0, 1.0, 1.0, norm if bad else 1.0), batch(3, 5, 7))
    with pytest.raises(NotFiniteError, match=rf"^step 6: the loss is {loss}, the gradient norm {norm}$") as raised:
        window.record(EXPERIMENT, epoch=8.0)
    assert raised.value.step == 6


@pytest.mark.parametrize(("value", "exponential"), [(0.0, 1.0), (2.0, math.exp(2)), (710.0, math.inf)])
def test_a_perplexity_too_large_for_a_float_is_infinite(value, exponential):
    assert dev_loss._exp(value) == exponential
    assert math.isnan(dev_loss._exp(math.nan))


def test_a_runs_batches_follow_its_settings():
    """The longest pair, the budget, the number of shapes, and the seed."""
    corpus = random_corpus(1, 211)
    longer = np.maximum(corpus.source_lengths, corpus.target_lengths)

    def shapes_and_pairs(**changes) -> tuple[list[Shape], list[list[int]]]:
        plan = batch_plan(tiny_experiment(**changes), corpus)
        return list(plan.shapes), [plan.batch_indices(step).tolist() for step in range(plan.steps_per_epoch)]

    shapes, pairs = shapes_and_pairs(max_train_length=6, tokens_per_batch=96, num_shapes=2)
    assert shapes == [(24, 4, 4), (16, 6, 6)]
    assert sorted(pair for batch in pairs for pair in batch) == np.flatnonzero(longer <= 6).tolist()
    assert 0 < (longer > 6).sum() < 211
    assert len(shapes_and_pairs(num_shapes=3)[0]) == 3
    assert shapes_and_pairs(seed=4)[1] != shapes_and_pairs()[1]


@pytest.fixture
def clock(monkeypatch):
    """`clock[0]` is the time in seconds."""
    now = [1000.0]
    monkeypatch.setattr(loop.time, "monotonic", lambda: now[0])
    return now


def due(training, clock, steps_and_times) -> list[int]:
    clock[0] = 1000.0
    timer = loop._CheckpointTimer(training)
    saved = []
    for step, time in steps_and_times:
        clock[0] = 1000.0 + time
        saved += [step] * timer(step)
    return saved


def test_checkpoints_by_steps_by_minutes_and_by_either(clock):
    every_20_seconds = [(step, 20.0 * step) for step in range(1, 13)]

    def training(steps, minutes):
        return tiny_experiment(checkpoint_every_steps=steps, checkpoint_every_minutes=minutes).training

    assert due(training(5, None), clock, every_20_seconds) == [5, 10]
    assert due(training(None, 1.0), clock, every_20_seconds) == [3, 6, 9, 12]
    assert due(training(5, 1.0), clock, every_20_seconds) == [3, 5, 8, 10]
    assert due(training(None, None), clock, every_20_seconds) == []


@pytest.mark.parametrize(
    ("losses", "patience", "ends"),
    [
        ([], 1, False),
        ([3.0], 1, False),
        ([3.0, 2.0], 1, False),
        ([3.0, 3.0], 1, True),
        ([3.0, 4.0], 1, True),
        ([3.0, 4.0], 2, False),
        ([3.0, 4.0, 3.0], 2, True),
        ([3.0, 4.0, 2.9], 2, False),
        ([2.0, 4.0, 3.0, 2.1], 3, True),
        ([3.0, 4.0, 5.0, 6.0], None, False),
    ],
)
def test_patience_by_hand(losses, patience, ends):
    """The last so many evaluations did not better the best before them; what training measured does not count."""
    records = [{"kind": "dev", "negative_log_likelihood": loss} for loss in losses]
    between = [{"kind": "train", "negative_log_likelihood": 9.0 - i} for i in range(len(records))]
    assert out_of_patience([part for pair in zip(between, records, strict=True) for part in pair], patience) == ends
