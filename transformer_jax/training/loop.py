"""Training from the first or the newest checkpoint's step to the last. Processes that call it alike are one run."""

import math
import time
import zlib
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from transformer_jax import config, parallel
from transformer_jax.data.batching import Batch, BatchPlan
from transformer_jax.data.encoded import EncodedCorpus
from transformer_jax.data.prefetch import prefetched
from transformer_jax.model.transformer import Params, Transformer
from transformer_jax.training.dev_loss import dev_loss
from transformer_jax.training.metrics_log import Record
from transformer_jax.training.observer import Observer
from transformer_jax.training.optimizer import make_optimizer
from transformer_jax.training.run_files import RunFiles
from transformer_jax.training.skipped import batch_of
from transformer_jax.training.step import TrainState, initial_state, make_train_step
from transformer_jax.training.window import NotFiniteError, TrainingError, Window

_BATCHES_AHEAD = 4  # some take longer to make: those of pages that are not in memory, and the first of an epoch


class _Work(NamedTuple):
    """What a run computes with, compiled once however often it goes back."""

    experiment: config.Experiment
    plan: BatchPlan
    train_split: EncodedCorpus
    train_step: Callable[..., Any]
    evaluate: Callable[[Params], dict[str, float]]


def train(
    experiment: config.Experiment,
    train_split: EncodedCorpus,
    dev_split: EncodedCorpus,
    workdir: Path,
    observer: Observer,
) -> int:
    """Trains in `workdir`, from its newest checkpoint if it has one, and returns the number of updates made in all.

    A run that was stopped at any moment and started again is, on the same hardware, bit for bit the uninterrupted one.

    Raises:
      NotFiniteError: the loss or the gradient is not finite, and the run has gone back as often as it may.
      TrainingError: the processes were called with different things.
      CheckpointError, ModelMismatchError: the workdir's checkpoints cannot be used.
      CorpusError: there is nothing to train on.
    """
    training = experiment.training
    plan = batch_plan(experiment, train_split)
    _require_one_run(experiment, plan, train_split, dev_split)
    model = Transformer(experiment.model, experiment.data.vocab_size)
    optimizer = make_optimizer(experiment)
    evaluate = dev_loss(model, dev_split, experiment.batching)
    train_step = parallel.on_all_devices(make_train_step(model, optimizer, training), donate_state=True, num_shared=1)
    work = _Work(experiment, plan, train_split, train_step, evaluate)
    with closing(RunFiles(workdir, training, observer)) as files:
        state = files.resume(initial_state(model, optimizer, training.seed))
        while True:
            try:
                return _make_updates(work, state, files, observer)
            except NotFiniteError as caught:
                error = caught.with_traceback(None)  # which would hold the state that is given up, and its memory
            state = files.go_back(initial_state(model, optimizer, training.seed), error)


def _make_updates(work: _Work, state: TrainState, files: RunFiles, observer: Observer) -> int:
    """From `state` to the last step, or until the run is to stop; returns the number of updates made in all.

    Raises:
      NotFiniteError: what no checkpoint may hold; `files` are as they were, but for records up to there.
    """
    training = work.experiment.training
    due, asked_to_stop = _CheckpointTimer(training), parallel.Agreement()
    window, stopping, exhausted = Window(), False, _out_of_patience(files, training)
    first = step = int(state.step)
    with closing(_batches(work, first, files)) as batches:
        while step < training.num_steps and not stopping and not exhausted:
            batch, shards = next(batches)
            state, metrics = work.train_step(state, shards, training.seed)
            if step == first:  # a call returns when its program is there, and the devices have begun
                observer.say(f"compiled, step {step + 1} is under way")
            step += 1
            window.add(step, metrics, batch)
            stopping, last = asked_to_stop(observer.should_stop()), step == training.num_steps
            evaluating = last or step % training.evaluate_every_steps == 0
            saving = due(step) or last
            if saving or stopping or evaluating or step % training.log_every_steps == 0:
                epoch = (batch_of(step - 1, files.skips) + 1) / work.plan.steps_per_epoch
                record = window.record(work.experiment, epoch)
                files.append(record | observer.added(record))
                window = Window()
            if evaluating:
                files.append({"kind": "dev", "step": step, **work.evaluate(state.params)})
                exhausted = _out_of_patience(files, training)
            if saving:
                files.save(state)
            if evaluating or saving:
                window.started = time.monotonic()
    files.save(state, interrupted=stopping and not saving)
    if stopping:
        observer.say(f"stopped at step {step}, saved; the same command goes on from here")
    return step


def _require_one_run(experiment: config.Experiment, plan: BatchPlan, *splits: EncodedCorpus) -> None:
    """Waits until all processes are here; raises TrainingError if their steps would not be the same."""
    parallel.meet("start")
    settings = experiment.model, experiment.batching, experiment.optimizer, experiment.training, plan.shapes
    checksum = zlib.crc32(repr(settings).encode())
    for split in splits:
        checksum = zlib.crc32(split.source_lengths.tobytes(), zlib.crc32(split.target_lengths.tobytes(), checksum))
    if len(set(parallel.from_all(np.array([checksum])).flat)) > 1:
        raise TrainingError("the processes of this run have different settings or texts")


def _batches(work: _Work, first_step: int, files: RunFiles) -> Generator[tuple[Batch, Batch], None, None]:
    """This process's rows of each step's batch, and the same as the devices' shards, made in the background."""
    plan, batching, skips = work.plan, work.experiment.batching, tuple(files.skips)

    def make(step: int) -> tuple[Batch, Batch]:
        number = batch_of(step, skips)
        rows, *lengths = plan.batch_shape(number)
        division = parallel.divide(rows, max(lengths), tokens_per_device=batching.tokens_per_device)
        batch = plan.batch(work.train_split, number, division.share(parallel.process_index()))
        return batch, division.shards(batch)

    return prefetched(make, range(first_step, work.experiment.training.num_steps), ahead=_BATCHES_AHEAD)


def batch_plan(experiment: config.Experiment, split: EncodedCorpus) -> BatchPlan:
    """Which pairs each batch of the experiment holds."""
    return BatchPlan(
        split.source_lengths,
        split.target_lengths,
        tokens_per_batch=experiment.batching.tokens_per_batch,
        num_shapes=experiment.batching.num_shapes,
        seed=experiment.training.seed,
        max_length=experiment.data.max_train_length,
    )


def out_of_patience(records: list[Record], patience: int | None) -> bool:
    """Whether the last `patience` evaluations all failed to lower the lowest dev loss before them.

    A function of the log, so that a resumed run stops where the uninterrupted one would.
    """
    losses = [record["negative_log_likelihood"] for record in records if record["kind"] == "dev"]
    if patience is None or len(losses) <= patience:
        return False
    return min(losses[-patience:]) >= min(losses[:-patience])


def _out_of_patience(files: RunFiles, training: config.Training) -> bool:
    """So says the first process, which has the log."""
    return bool(parallel.from_first(np.uint32(out_of_patience(files.records, training.patience))))


class _CheckpointTimer:
    """Says after each step whether a checkpoint is due, by steps or by the minutes of the first process."""

    def __init__(self, training: config.Training):
        self._steps = training.checkpoint_every_steps
        minutes = training.checkpoint_every_minutes
        self._seconds = math.inf if minutes is None else minutes * 60
        self._last = time.monotonic()
        self._rang = parallel.Agreement()

    def __call__(self, step: int) -> bool:
        by_steps = self._steps is not None and step % self._steps == 0
        by_time = self._seconds < math.inf and self._rang(self._rings())
        if by_steps:
            self._last = time.monotonic()
        return by_steps or by_time

    def _rings(self) -> bool:
        """Once, when the time is over."""
        now = time.monotonic()
        if parallel.process_index() > 0 or now - self._last < self._seconds:
            return False
        self._last = now
        return True
