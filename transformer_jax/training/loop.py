"""Training from the first or the newest checkpoint's step to the last."""

import math
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from transformer_jax import config, parallel
from transformer_jax.data.batching import Batch, BatchPlan, evaluation_batches
from transformer_jax.data.encoded import EncodedCorpus
from transformer_jax.errors import UserError
from transformer_jax.model.embedding import require_length
from transformer_jax.model.transformer import Transformer
from transformer_jax.special_ids import PAD_ID
from transformer_jax.training.checkpoint import Checkpoints
from transformer_jax.training.loss import Sums
from transformer_jax.training.metrics_log import MetricsLog, Record
from transformer_jax.training.optimizer import learning_rate_schedule, make_optimizer
from transformer_jax.training.step import (
    Params,
    StepMetrics,
    TrainState,
    initial_state,
    make_evaluation_step,
    make_train_step,
)


class TrainingError(UserError):
    """Training cannot go on: the message names the step."""


@dataclass(frozen=True)
class Observer:
    """Who watches a run. Nothing of the run depends on it but when it stops early."""

    record: Callable[[Record], None]  # every record of metrics.jsonl
    say: Callable[[str], None]  # one line for a person
    should_stop: Callable[[], bool]  # asked after every step; True: save and return


class Window:
    """The updates since the last record: their metrics, which are fetched together so that steps are not waited for."""

    def __init__(self) -> None:
        self.steps: list[tuple[int, StepMetrics]] = []
        self.positions = 0
        self.checksum = 0  # of every batch, so that two runs can be seen to have read the same
        self.started = time.monotonic()

    def add(self, step: int, metrics: StepMetrics, batch: Batch) -> None:
        self.steps.append((step, metrics))
        self.positions += batch.target.size
        self.checksum = zlib.crc32(batch.target.tobytes(), zlib.crc32(batch.source.tobytes(), self.checksum))

    def record(self, experiment: config.Experiment, steps_per_epoch: int) -> Record:
        """The window as one record; raises TrainingError naming the first step whose loss or gradient is not finite."""
        for step, metrics in self.steps:
            if not (math.isfinite(metrics.sums.loss) and math.isfinite(metrics.gradient_norm)):
                raise TrainingError(
                    f"step {step}: the loss is {float(metrics.sums.loss)}, the gradient norm "
                    f"{float(metrics.gradient_norm)}; the last checkpoint is from before"
                )
        last_step, last = self.steps[-1]
        loss, negative_log_likelihood, tokens = _total([metrics.sums for _, metrics in self.steps])
        seconds = time.monotonic() - self.started
        return {
            "kind": "train",
            "step": last_step,
            "epoch": last_step / steps_per_epoch,
            "loss": loss / tokens,
            "negative_log_likelihood": negative_log_likelihood / tokens,
            "learning_rate": float(learning_rate_schedule(experiment)(last_step - 1)),
            "gradient_norm": float(last.gradient_norm),
            "target_tokens_per_update": tokens / len(self.steps),
            "target_tokens_per_second": tokens / seconds,
            "padding_share": 1 - tokens / self.positions,
            "seconds": seconds,
            "batches_crc32": self.checksum,
        }


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
    state = _newest_state(checkpoints, initial_state(model, optimizer, training.seed), observer.say)
    train_step = parallel.on_all_devices(make_train_step(model, optimizer, training), donate_state=True)
    due, window, step, stopping = _CheckpointTimer(training), Window(), int(state.step), False
    with closing(MetricsLog(workdir, resumed_at=step)) as log:
        while step < training.num_steps and not stopping and not out_of_patience(log.records, training.patience):
            batch = plan.batch(train_split, step)
            state, metrics = train_step(state, _shard(batch, experiment.batching))
            step += 1
            window.add(step, metrics, batch)
            stopping, last = observer.should_stop(), step == training.num_steps
            evaluating = last or step % training.evaluate_every_steps == 0
            saving = due(step) or last or stopping
            if saving or evaluating or step % training.log_every_steps == 0:
                _append(log, observer, window.record(experiment, plan.steps_per_epoch))
                window = Window()
            if evaluating:
                _append(log, observer, {"kind": "dev", "step": step, **evaluate(state.params)})
            if saving:
                _save(checkpoints, state)
            if evaluating or saving:
                window.started = time.monotonic()
        _save(checkpoints, state)
    if stopping:
        observer.say(f"stopped at step {step}, saved; the same command goes on from here")
    return step


def _newest_state(checkpoints: Checkpoints, initial: TrainState, say: Callable[[str], None]) -> TrainState:
    """The newest checkpoint's state, or the initial one, on all devices."""
    state = parallel.replicate(initial)
    restored = checkpoints.restore_newest(state, say)
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


def dev_loss(
    model: Transformer, split: EncodedCorpus, batching: config.Batching
) -> Callable[[Params], dict[str, float]]:
    """A function of parameters: the loss per token, without smoothing, and its exponential, the perplexity per piece.

    Raises:
      SequenceTooLongError: a pair is longer than the model accepts, said now and not after an epoch.
    """
    longest = int(max(split.source_lengths.max(), split.target_lengths.max()))
    require_length(longest, model.config.max_length)
    step = parallel.on_all_devices(make_evaluation_step(model), donate_state=False)

    def evaluate(params: Params) -> dict[str, float]:
        batches = evaluation_batches(split, tokens_per_batch=batching.tokens_per_device, num_shapes=batching.num_shapes)
        sums = [step(params, _shard(batch, batching)) for _, batch in batches]
        _, nll, tokens = _total(sums)
        return {"negative_log_likelihood": nll / tokens, "perplexity": _exp(nll / tokens)}

    return evaluate


def out_of_patience(records: list[Record], patience: int | None) -> bool:
    """Whether the last `patience` evaluations all failed to lower the lowest dev loss before them.

    A function of the log, so that a resumed run stops where the uninterrupted one would.
    """
    losses = [record["negative_log_likelihood"] for record in records if record["kind"] == "dev"]
    if patience is None or len(losses) <= patience:
        return False
    return min(losses[-patience:]) >= min(losses[:-patience])


def _exp(x: float) -> float:
    """math.exp, but for a model that has gone astray infinity and no OverflowError."""
    return math.inf if x > 700 else math.exp(x)


def _total(sums: list[Sums]) -> list[float]:
    """The sums of many batches as one: loss, negative log-likelihood, tokens."""
    return np.asarray(jax.device_get(sums), np.float64).sum(0).tolist()


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


def _shard(batch: Batch, batching: config.Batching) -> Batch:
    assert PAD_ID == 0  # `shard` fills up with zeros
    return parallel.shard(batch, devices=parallel.num_devices(), tokens_per_device=batching.tokens_per_device)
