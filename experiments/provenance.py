"""Where a number comes from: the command, the code, the libraries and the machine that made it."""

import hashlib
import importlib.metadata
import os
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jax

from transformer_jax import parallel
from transformer_jax.config import Experiment
from transformer_jax.data.encoded import EncodedCorpus
from transformer_jax.data.prepared import PreparedData

_PACKAGES = ("jax", "flax", "optax", "orbax-checkpoint", "sentencepiece", "sacrebleu", "numpy")
_FLAGS = ("XLA_", "JAX_", "GLIBC_TUNABLES", "LIBTPU_INIT_ARGS", "CUDA_VISIBLE_DEVICES", "NVIDIA_TF32_OVERRIDE")


def provenance() -> dict[str, Any]:
    """Of this process, now."""
    device = jax.devices()[0]
    return {
        "command": shlex.join(["python", "-m", _module(), *sys.argv[1:]]),
        "revision": _revision(),
        "versions": {package: importlib.metadata.version(package) for package in _PACKAGES},
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "devices": f"{jax.device_count()} x {device.platform}"
        + (f" ({device.device_kind})" * (device.platform != "cpu")),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def launch(experiment: Experiment, data: PreparedData, overridden: list[str]) -> dict[str, Any]:
    """The run's manifest, as of this launch: all that its numbers come from, but for the config, a file of its own.

    `overridden` are the settings in which that differs from the config of the launch before.
    """
    return {
        **provenance(),
        "processes": parallel.num_processes(),
        "flags": {name: value for name, value in sorted(os.environ.items()) if name.startswith(_FLAGS)},
        "seed": experiment.training.seed,
        "data_sha256": {name: _fingerprint(split) for name, split in data.splits.items()},
        "vocabulary_sha256": data.vocabulary.fingerprint,
        "overridden": overridden,
    }


def _fingerprint(split: EncodedCorpus) -> str:
    """Of the ids of both sides and where each sentence ends, however they are stored."""
    digest = hashlib.sha256()
    for side in (split.sources, split.targets):
        digest.update(side.lengths.astype("<i4").tobytes())
        for shard in side.shards:
            digest.update(shard.values.astype("<i4").tobytes())
    return digest.hexdigest()


def _module() -> str:
    """What was started, as `python -m` names it."""
    path = Path(sys.argv[0])
    return f"{path.parent.name}.{path.stem}"


def _revision() -> str | None:
    """The commit of the code that runs, with "+" where it was changed since; None outside a git checkout."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+", "--abbrev=12", "--match="]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _processor() -> str:
    """As the kernel names it, where it does."""
    try:
        lines = Path("/proc/cpuinfo").read_text().split("\n")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
