"""The updates between two records of the log, and what a record says of them."""

import math
import time
import zlib

import numpy as np

from transformer_jax import config, parallel
from transformer_jax.data.batching import Batch
from transformer_jax.errors import UserError
from transformer_jax.special_ids import PAD_ID
from transformer_jax.training.loss import total
from transformer_jax.training.metrics_log import Record
from transformer_jax.training.optimizer import learning_rate_schedule
from transformer_jax.training.step import StepMetrics


class TrainingError(UserError):
    """Training cannot go on: the message names the step."""


class NotFiniteError(TrainingError):
    """The update that made `step` has a loss, a gradient or a parameter that is not finite."""

    def __init__(self, step: int, what: str):
        super().__init__(f"step {step}: {what}")
        self.step, self.what = step, what


class Window:
    """The updates since the last record: their metrics, which are fetched together so that steps are not waited for.

    Of batches each process counts its own rows.
    """

    def __init__(self) -> None:
        self.steps: list[tuple[int, StepMetrics]] = []
        self.positions = 0  # of both sides
        self.source_tokens = 0
        self.pairs = 0
        self.checksum = 0  # of every batch, so that two runs can be seen to have read the same
        self.started = time.monotonic()

    def add(self, step: int, metrics: StepMetrics, batch: Batch) -> None:
        self.steps.append((step, metrics))
        self.positions += batch.source.size + batch.target.size
        self.source_tokens += int((batch.source != PAD_ID).sum())
        self.pairs += int((batch.source[:, 0] != PAD_ID).sum())
        self.checksum = zlib.crc32(batch.target.tobytes(), zlib.crc32(batch.source.tobytes(), self.checksum))

    def record(self, experiment: config.Experiment, epoch: float) -> Record:
        """The window as one record, the same in all processes.

        Raises:
          NotFiniteError: names the first step whose loss or gradient is not finite.
        """
        for step, metrics in self.steps:
            if not (math.isfinite(metrics.sums.loss) and math.isfinite(metrics.gradient_norm)):
                loss, norm = float(metrics.sums.loss), float(metrics.gradient_norm)
                raise NotFiniteError(step, f"the loss is {loss}, the gradient norm {norm}")
        last_step, last = self.steps[-1]
        loss, negative_log_likelihood, tokens = total([metrics.sums for _, metrics in self.steps])
        own = np.array([self.positions, self.source_tokens, self.pairs, self.checksum])
        positions, source_tokens, pairs, checksum = parallel.from_all(own).sum(0).tolist()
        seconds = time.monotonic() - self.started
        return {
            "kind": "train",
            "step": last_step,
            "epoch": epoch,
            "loss": loss / tokens,
            "negative_log_likelihood": negative_log_likelihood / tokens,
            "learning_rate": float(learning_rate_schedule(experiment)(last_step - 1)),
            "gradient_norm": float(last.gradient_norm),
            "pairs_per_update": pairs / len(self.steps),
            "source_tokens_per_update": source_tokens / len(self.steps),
            "target_tokens_per_update": tokens / len(self.steps),
            "target_tokens_per_second": tokens / seconds,
            "padding_share": 1 - (source_tokens + tokens) / positions,
            "seconds": seconds,
            "batches_crc32": checksum % 2**32,
        }
