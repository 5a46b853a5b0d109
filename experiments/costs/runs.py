"""What training our runs cost, three ways, from what they have logged."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.costs.compiled import compiled_shares
from experiments.registry.records import RunRecord, number
from transformer_jax.analysis.cost import utilisation
from transformer_jax.analysis.device_peaks import device_peak, estimated_flops
from transformer_jax.config import Experiment

_DEVICES = re.compile(r"(\d+) x (\w+)(?: \((.*)\))?")  # as `provenance` says them
_COUNTED = ("pairs_per_update", "source_tokens_per_update", "target_tokens_per_update", "padding_share")


class Estimate(NamedTuple):
    """The paper's cost: time x devices x peak."""

    flops: float
    how: str  # the product


class Costs(NamedTuple):
    """Floating-point operations of a training; None where the run has not logged enough."""

    estimate: Estimate | None
    compiled: float | None
    formula: float | None


def costs(run: RunRecord) -> Costs:
    """The estimate, with what is logged of padding XLA's count, and the formula of `analysis.cost` without padding."""
    updates = [record for record in run.logged if record["kind"] == "train"]
    if run.experiment is None or not updates:
        return Costs(None, None, None)
    counted = all(number(record, name) is not None for record in updates for name in _COUNTED)
    compiled = _compiled(run.experiment, updates) if counted else None
    return Costs(_estimate(run, run.experiment, updates), compiled, number(run.totals, "flops"))


def _estimate(run: RunRecord, experiment: Experiment, updates: Sequence[dict[str, Any]]) -> Estimate | None:
    """With the paper's peak of the device, if it has one; else with what a run's matrix products reached at most."""
    devices = {str(launch.get("devices")) for launch in run.launches}
    seconds = [number(record, "seconds") for record in updates]
    found = _DEVICES.fullmatch(devices.pop()) if len(devices) == 1 else None
    if not found or None in seconds:
        return None
    count, kind, hours = int(found[1]), found[3] or found[2], sum(map(float, seconds)) / 3600  # type: ignore[arg-type]
    peak, whose = device_peak(kind), "in the paper"
    if peak is None:
        peaks = measured_peaks(experiment, updates)
        if peaks is None:
            return None
        peak, whose = float(np.average(peaks, weights=np.array(seconds, float))) / count, "measured"
    how = f"{count} {kind} x {hours:.3g} h x {peak / 1e12:.3g} TFLOPS {whose}"
    return Estimate(estimated_flops(hours=hours, devices=count, peak=peak), how)


def measured_peaks(experiment: Experiment, updates: Sequence[dict[str, Any]]) -> list[float] | None:
    """FLOP/s of all devices at best, as each training record's utilisation is a share of; None: one has none."""
    peaks = []
    for record in updates:
        share = number(record, "utilisation")
        if not share:
            return None
        peaks.append(utilisation(experiment.model, experiment.data.vocab_size, record, peak=1.0) / share)
    return peaks


def _compiled(experiment: Experiment, updates: Sequence[dict[str, Any]]) -> float:
    """XLA's count of an update of pairs of the mean padded lengths, times the updates."""
    made = np.diff([0, *(record["step"] for record in updates)])
    pairs, sources, targets, padding = (np.array([record[name] for record in updates], float) for name in _COUNTED)
    padded = [float(made @ (tokens / (1 - padding)) / (made @ pairs)) for tokens in (sources, targets)]
    source, target = (max(round(length), 1) for length in padded)
    shares = compiled_shares(experiment, source=source, target=target)
    pair = shares.pair * sum(padded) / (source + target)  # lengths of a program are whole numbers
    return float(made.sum() * shares.update + made @ pairs * pair + made @ targets * shares.token)
