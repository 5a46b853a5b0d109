"""Training from the first or the newest checkpoint's step to the last."""

import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from transformer_jax import config, parallel
from transformer_jax.data.batching import Batch, BatchPlan
from transformer_jax.data.encoded import EncodedCorpus
from transformer_jax.data.prefetch import prefetched
from transformer_jax.model.transformer import Transformer
from transformer_jax.training.checkpoint import CheckpointError, Checkpoints
from transformer_jax.training.dev_loss import dev_loss
from transformer_jax.training.metrics_log import MetricsLog, Record
from transformer_jax.training.optimizer import make_optimizer
from transformer_jax.training.step import TrainState, initial_state, make_train_step
from transformer_jax.training.window import TrainingError, Window

_BATCHES_AHEAD = 4  # some take longer to make: those of pages that are not in memory, and the first of an epoch


@dataclass(frozen=True)
class Observer:
    """Who watches a run. Nothing of the run depends on it but when it stops early."""

    record: Callable[[Record], None]  # every record of metrics.jsonl
    say: Callable[[str], None]  # one line for a person
    should_stop: Callable[[], bool]  # asked after every step; True: save and return


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
      TrainingError: the loss or the gradient is not finite.
      CheckpointError, ModelMismatchError: the workdir's checkpoints cannot be used.
      CorpusError: there is nothing to train on.
    """
    training = experiment.training
    plan = batch_plan(experiment, train_split)
    model = Transformer(experiment.model, experiment.data.vocab_size)
    optimizer = make_optimizer(experiment)
    evaluate = dev_loss(model, dev_split, experiment.batching)
    checkpoints = Checkpoints(workdir / "checkpoints", keep=training.keep_checkpoints)
    interrupted = Checkpoints(workdir / "interrupted", keep=1)
    state = _newest_state(checkpoints, interrupted, initial_state(model, optimizer, training.seed), observer.say)
    one_device_step = make_train_step(model, optimizer, training)
    train_step = parallel.on_all_devices(one_device_step, donate_state=True, num_shared=1)
    due, window, step, stopping = _CheckpointTimer(training), Window(), int(state.step), False
    batches = _batches(experiment, plan, train_split, step)
    with closing(MetricsLog(workdir, resumed_at=step)) as log, closing(batches):
        while step < training.num_steps and not stopping and not out_of_patience(log.records, training.patience):
            batch, shards = next(batches)
            state, metrics = train_step(state, shards, training.seed)
            step += 1
            window.add(step, metrics, batch)
            stopping, last = observer.should_stop(), step == training.num_steps
            evaluating = last or step % training.evaluate_every_steps == 0
            saving = due(step) or last
            if saving or stopping or evaluating or step % training.log_every_steps == 0:
                _append(log, observer, window.record(experiment, plan.steps_per_epoch))
                window = Window()
            if evaluating:
                _append(log, observer, {"kind": "dev", "step": step, **evaluate(state.params)})
            if saving:
                _save(checkpoints, state)
            if evaluating or saving:
                window.started = time.monotonic()
        _save(interrupted if stopping and not saving else checkpoints, state)
    if stopping:
        observer.say(f"stopped at step {step}, saved; the same command goes on from here")
    return step


def _batches(
    experiment: config.Experiment, plan: BatchPlan, split: EncodedCorpus, first_step: int
) -> Generator[tuple[Batch, Batch], None, None]:
    """Each step's batch, whole and as the devices' shards, made in the background."""

    def make(step: int) -> tuple[Batch, Batch]:
        batch = plan.batch(split, step)
        return batch, parallel.shard(batch, tokens_per_device=experiment.batching.tokens_per_device)

    return prefetched(make, range(first_step, experiment.training.num_steps), ahead=_BATCHES_AHEAD)


def _newest_state(
    checkpoints: Checkpoints, interrupted: Checkpoints, initial: TrainState, say: Callable[[str], None]
) -> TrainState:
    """The newest state that is whole, or the initial one, on all devices.

    A stop between two checkpoints is saved apart: were it one of them, the average would depend on when a run was
    stopped, and an older one would have had to go for it.
    """
    state = parallel.replicate(initial)
    restored = None
    if max(interrupted.steps, default=0) > max(checkpoints.steps, default=0):
        try:
            restored = interrupted.restore_newest(state, say)
        except CheckpointError:
            interrupted.clear()
    restored = restored or checkpoints.restore_newest(state, say)
    if restored is None:
        return state
    say(f"resumed from step {int(restored.step)}")
    return restored


def _append(log: MetricsLog, observer: Observer, record: Record) -> None:
    log.append(record)
    observer.record(record)


def _save(checkpoints: Checkpoints, state: TrainState) -> None:
    """A finite loss can have an update that is not; once saved, a run could never again go on."""
    if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(jax.device_get(state.params))):
        raise TrainingError(f"step {int(state.step)}: a parameter is not finite; the last checkpoint is from before")
    checkpoints.save(state)


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


class _CheckpointTimer:
    """Says after each step whether a checkpoint is due, by steps or by minutes."""

    def __init__(self, training: config.Training):
        self._steps = training.checkpoint_every_steps
        self._seconds = None if training.checkpoint_every_minutes is None else training.checkpoint_every_minutes * 60
        self._last = time.monotonic()

    def __call__(self, step: int) -> bool:
        by_steps = self._steps is not None and step % self._steps == 0
        by_time = self._seconds is not None and time.monotonic() - self._last >= self._seconds
        if by_steps or by_time:
            self._last = time.monotonic()
        return by_steps or by_time
