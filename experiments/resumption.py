"""Whether a run that was killed and resumed is the one that nobody disturbed."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.workdir import WorkdirError
from transformer_jax.training.checkpoint import Checkpoints
from transformer_jax.training.metrics_log import read_metrics


def settings(steps: int, kills: int) -> list[str]:
    """Bindings of a run of so many steps, each in the log, that saves a few times between kills."""
    return [
        f"Training.num_steps = {steps}",
        "Training.log_every_steps = 1",
        f"Training.evaluate_every_steps = {steps}",
        f"Training.checkpoint_every_steps = {max(steps // (2 * kills + 1), 1)}",
        "Training.checkpoint_every_minutes = None",
        "Training.patience = None",
    ]


def kill_after(steps: int, kills: int, *, seed: int) -> list[int]:
    """After which steps, in order; none is the last."""
    return sorted(random.Random(seed).sample(range(1, steps), kills))


def new_folders(workdir: Path, *names: str) -> list[Path]:
    """Raises WorkdirError if one of them is there."""
    for name in names:
        if (workdir / name).exists():
            raise WorkdirError(f"{workdir / name} is there already: choose another --workdir")
    return [workdir / name for name in names]


def different(ours: Path, theirs: Path) -> list[str]:
    """What differs between two runs, a line each: batches, and the arrays of the newest checkpoint.

    Raises:
      CheckpointError: one of these is damaged.
    """
    mine, other = _batches(ours), _batches(theirs)
    lines = [f"the batch of step {step} differs" for step in sorted(mine | other) if mine.get(step) != other.get(step)]
    (step, arrays), (their_step, their_arrays) = _arrays(ours), _arrays(theirs)
    if step != their_step:
        return [*lines, f"one ended at step {step}, the other at step {their_step}"]
    names = sorted(arrays | their_arrays)
    return lines + [f"{name} differs" for name in names if arrays.get(name) != their_arrays.get(name)]


def _batches(workdir: Path) -> dict[int, int]:
    """Step -> checksum of what it read."""
    records = read_metrics(workdir / "metrics.jsonl")
    return {record["step"]: record["batches_crc32"] for record in records if record["kind"] == "train"}


def _arrays(workdir: Path) -> tuple[int, dict[str, Sequence[Any]]]:
    """The newest checkpoint's step, and shape, type and checksum of each of its arrays."""
    checkpoints = Checkpoints(workdir / "checkpoints", keep=1)
    step = checkpoints.steps[-1]
    parts = checkpoints.described(step)
    return step, {f"{part}{name}": entry for part, manifest in parts.items() for name, entry in manifest.items()}
