"""A trained run that may lie in `runs/`, for tests of what a real model does; and, as a program, translations by it.

`python trained_run.py RUN SOURCES OUT` reads lists of ids and writes lists of hypotheses, both as JSON. It uses all the
devices that there are.
"""

import json
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import jax

from experiments.weights import read_weights
from experiments.workdir import read_experiment, read_vocabulary
from transformer_jax import config
from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.decoding.generate import Generator
from transformer_jax.model.transformer import Transformer

# The paper's search.
SETTINGS = [
    "Decoding.beam_size = 4",
    "Decoding.length_penalty = 0.6",
    "Decoding.length_penalty_offset = 5.0",
    'Decoding.stop = "bound"',
]


class TrainedRun(NamedTuple):
    model: Transformer
    params: Any
    decoding: config.Decoding
    vocabulary: Vocabulary


def shadow(run: Path, folder: Path) -> Path:
    """The run in another folder, so that nothing is written into its own."""
    for name in ("config.gin", "vocabulary.model", "checkpoints"):
        (folder / name).symlink_to(run / name)
    if (run / "averaged").is_dir():
        shutil.copytree(run / "averaged", folder / "averaged")
    return folder


def load(run: Path) -> TrainedRun:
    experiment, vocabulary = read_experiment(run, [], SETTINGS), read_vocabulary(run)
    model = Transformer(experiment.model, vocabulary.size)
    return TrainedRun(model, read_weights(run, experiment).params, experiment.decoding, vocabulary)


def main() -> None:
    run, sources, out = map(Path, sys.argv[1:])
    jax.config.update("jax_disable_most_optimizations", True)  # compiled for every device
    trained = load(run)
    generator = Generator(trained.model, trained.params, trained.decoding)
    found = generator.generate(json.loads(sources.read_text()))
    out.write_text(json.dumps({"devices": jax.local_device_count(), "hypotheses": found}))


if __name__ == "__main__":
    main()
