"""What `benchmarks.train` trains: three sizes of model on Multi30k, at settings that stay the same."""

from pathlib import Path
from typing import NamedTuple

import jax

from experiments.gin_bindings import load_experiment
from transformer_jax.config import Experiment

CONFIGS = Path(__file__).resolve().parents[1] / "gin_configs"
_ROW, _SCALE = "table3/base.gin", "scale/multi30k_quarter.gin"
# What a peer has not, or is to be the same on all machines; one line a record, as soon as there is one.
_COMMON = ["Optimizer.max_gradient_norm = None", "Training.log_every_steps = 1"]


class Setting(NamedTuple):
    """A model and its batches: gin files, then bindings; and how many updates are timed at a time."""

    files: tuple[str, ...]
    params: tuple[str, ...]
    updates: int


def _tokens(count: int) -> tuple[str, ...]:
    return f"Batching.tokens_per_batch = {count}", f"Batching.tokens_per_device = {count}"


_BASE = ("Scale.divisor = 1", "Data.vocab_size = 8000", "Batching.num_shapes = 6")
_ON_CPU = {
    "tiny": Setting(("multi30k/tiny.gin",), (), 32),
    "quarter": Setting((_ROW, _SCALE), (), 64),
    "base": Setting((_ROW, _SCALE), (*_BASE, *_tokens(4096)), 8),
}
_IN_BFLOAT16 = "Model.compute_dtype = 'bfloat16'"
_ON_GPU = {
    "tiny": Setting(("multi30k/tiny.gin",), (*_tokens(25000), _IN_BFLOAT16), 64),
    "quarter": Setting((_ROW, _SCALE), (*_tokens(25000), _IN_BFLOAT16), 64),
    "base": Setting((_ROW, _SCALE), (*_BASE, *_tokens(25000), _IN_BFLOAT16), 64),
}
NAMES = tuple(_ON_CPU)


def setting(name: str) -> Setting:
    """Of the devices there are."""
    return (_ON_CPU if jax.default_backend() == "cpu" else _ON_GPU)[name]


def flags(name: str, directory: str, workdir: Path) -> tuple[list[str], list[str]]:
    """Gin files and bindings of a setting; the text is in `directory`, and what is prepared of it in the workdir."""
    own = setting(name)
    where = f"Data.directory = {directory!r}", f"Data.cache_directory = {str(workdir.resolve() / 'prepared')!r}"
    return [str(CONFIGS / file) for file in own.files], [*own.params, *_COMMON, *where]


def experiment(name: str, directory: str, workdir: Path) -> Experiment:
    return load_experiment(*flags(name, directory, workdir))
