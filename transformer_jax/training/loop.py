"""Training from the first or the newest checkpoint's step to the last. Processes that call it alike are one run."""

import math
import time
import zlib
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from transformer_jax import config, parallel
from transformer_jax.data.batching import Batch, BatchPlan
from transformer_jax.data.encoded import EncodedCorpus
from transformer_jax.data.prefetch import prefetched
from transformer_jax.model.transformer import Transformer
from transformer_jax.training.dev_loss import dev_loss
from transformer_jax.training.metrics_log import Record
from transformer_jax.training.optimizer import make_optimizer
from transformer_jax.training.run_files import RunFiles
from transformer_jax.training.step import initial_state, make_train_step
from transformer_jax.training.window import TrainingError, Window

_BATCHES_AHEAD = 4  # some take longer to make: those of pages that are not in memory, and the first of an epoch


@dataclass(frozen=True)
class Observer:
    """Who watches a run, in each of its processes. Nothing of the run depends on it but when it stops early."""

    record: Callable[[Record], None]  # every record of metrics.jsonl
    say: Callable[[str], None]  # one line for a person
    should_stop: Callable[[], bool]  # asked after every step; True: save and return. Of several processes all do so


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
      TrainingError: the loss or the gradient is not finite, or the processes were called with different things.
      CheckpointError, ModelMismatchError: the workdir's checkpoints cannot be used.
      CorpusError: there is nothing to train on.
    """
    training = experiment.training
    plan = batch_plan(experiment, train_split)
    _require_one_run(experiment, plan, train_split, dev_split)
    model = Transformer(experiment.model, experiment.data.vocab_size)
    optimizer = make_optimizer(experiment)
    evaluate = dev_loss(model, dev_split, experiment.batching)
    files = RunFiles(workdir, training)
    state = files.resume(initial_state(model, optimizer, training.seed), observer.say)
    train_step = parallel.on_all_devices(make_train_step(model, optimizer, training), donate_state=True, num_shared=1)
    due, asked_to_stop = _CheckpointTimer(training), parallel.Agreement()
    window, step, stopping, exhausted = Window(), int(state.step), False, _out_of_patience(files, training)
    with closing(files), closing(_batches(experiment, plan, train_split, step)) as batches:
        while step < training.num_steps and not stopping and not exhausted:
            batch, shards = next(batches)
            state, metrics = train_step(state, shards, training.seed)
            step += 1
            window.add(step, metrics, batch)
            stopping, last = asked_to_stop(observer.should_stop()), step == training.num_steps
            evaluating = last or step % training.evaluate_every_steps == 0
            saving = due(step) or last
            if saving or stopping or evaluating or step % training.log_every_steps == 0:
                _append(files, observer, window.record(experiment, plan.steps_per_epoch))
                window = Window()
            if evaluating:
                _append(files, observer, {"kind": "dev", "step": step, **evaluate(state.params)})
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


def _batches(
    experiment: config.Experiment, plan: BatchPlan, split: EncodedCorpus, first_step: int
) -> Generator[tuple[Batch, Batch], None, None]:
    """This process's rows of each step's batch, and the same as the devices' shards, made in the background."""

    def make(step: int) -> tuple[Batch, Batch]:
        rows, *lengths = plan.batch_shape(step)
        division = parallel.divide(rows, max(lengths), tokens_per_device=experiment.batching.tokens_per_device)
        batch = plan.batch(split, step, division.share(parallel.process_index()))
        return batch, division.shards(batch)

    return prefetched(make, range(first_step, experiment.training.num_steps), ahead=_BATCHES_AHEAD)


def _append(files: RunFiles, observer: Observer, record: Record) -> None:
    files.append(record)
    observer.record(record)


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
