"""How long a list of runs will take: counted operations over a measured speed."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import numpy as np

from experiments.results import training_summary
from experiments.run_list import Run, RunList, State
from transformer_jax import parallel
from transformer_jax.analysis.cost import training_flops
from transformer_jax.config import Experiment
from transformer_jax.data.batching import Batch
from transformer_jax.model.transformer import Transformer
from transformer_jax.training.optimizer import make_optimizer
from transformer_jax.training.step import initial_state, make_train_step

# Tokens a side. What a position costs hardly depends on it: the scores, which do, are a small part of a layer.
_LENGTH = 25
_TIMED_SECONDS = 5.0


@dataclass(frozen=True)
class Estimate:
    """What is left to do of one run."""

    run: Run
    state: State
    flops: float
    seconds: float


@dataclass(frozen=True)
class Speed:
    """Counted floating-point operations a second, padding included, of training on this machine."""

    flops_per_second: float
    source: str  # for people: what was timed


def estimates(runs: RunList, speed: Speed) -> list[Estimate]:
    """Of every run that is not finished."""
    left = []
    for run in runs.runs:
        state, experiment = runs.state(run), run.experiment
        if state.kind != "finished":
            done = training_summary(runs.root / run.name, experiment)["updates"]
            flops = (experiment.training.num_steps - done) * _flops_per_update(experiment)
            left.append(Estimate(run, state, flops, flops / speed.flops_per_second))
    return left


def measured_speed(runs: RunList) -> Speed:
    """Of the runs so far, or of a few updates made for the purpose."""
    flops, seconds, count = 0.0, 0.0, 0
    for run in runs.runs:
        experiment = run.experiment
        log = training_summary(runs.root / run.name, experiment)
        if log["updates"]:
            flops += log["updates"] * _flops_per_update(experiment)
            seconds += log["seconds"]
            count += 1
    if count:
        return Speed(flops / seconds, f"{count} runs in {runs.root}")
    flops_per_second, updates = _probe(runs.runs[0].experiment)
    return Speed(flops_per_second, f"updates of {runs.runs[0].name} on random ids, {updates} of them")


def _flops_per_update(experiment: Experiment) -> float:
    return experiment.batching.tokens_per_batch * _flops_per_position(experiment)


def _flops_per_position(experiment: Experiment) -> float:
    pair = training_flops(experiment.model, experiment.data.vocab_size, source=_LENGTH, target=_LENGTH)
    return pair / _LENGTH


def _probe(experiment: Experiment) -> tuple[float, int]:
    """(operations a second, updates timed) of batches of random ids that the devices take at once; reads no data."""
    model, optimizer = Transformer(experiment.model, experiment.data.vocab_size), make_optimizer(experiment)
    one_device = make_train_step(model, optimizer, experiment.training)
    step = parallel.on_all_devices(one_device, donate_state=True, num_shared=1)
    at_once = experiment.batching.tokens_per_device * parallel.num_devices()
    rows = max(min(at_once, experiment.batching.tokens_per_batch) // _LENGTH, 1)
    ids = np.random.default_rng(0).integers(4, experiment.data.vocab_size, (2, rows, _LENGTH), np.int32)
    batch = parallel.shard(Batch(*ids), tokens_per_device=experiment.batching.tokens_per_device)
    state, _ = step(parallel.replicate(initial_state(model, optimizer, seed=0)), batch, 0)  # compiles
    jax.block_until_ready(state)
    started, updates = time.monotonic(), 0
    while time.monotonic() - started < _TIMED_SECONDS:
        state, _ = jax.block_until_ready(step(state, batch, 0))
        updates += 1
    return updates * rows * _LENGTH * _flops_per_position(experiment) / (time.monotonic() - started), updates


def render(left: Sequence[Estimate], speed: Speed) -> str:
    """A line a run, and the sum, as text."""
    lines = [
        f"{estimate.run.name:32}{_duration(estimate.seconds):>14}{estimate.flops:>12.2e} FLOPs  {estimate.state.detail}"
        for estimate in left
    ]
    seconds, flops = sum(estimate.seconds for estimate in left), sum(estimate.flops for estimate in left)
    devices = parallel.num_devices()
    cost = f"{seconds * devices / 3600:,.1f} device-hours on {devices} x {jax.devices()[0].platform}"
    total = f"{len(left)} runs left: {_duration(seconds)} one after another, {cost}, {flops:.2e} FLOPs"
    return "\n".join(
        [*lines, total, f"speed: {speed.flops_per_second:.2e} FLOPs/s, padding included, from {speed.source}"]
    )


def _duration(seconds: float) -> str:
    hours, minutes = divmod(seconds / 60, 60)
    return f"{hours:,.0f} h {minutes:02.0f} min" if hours else f"{minutes:.1f} min"
