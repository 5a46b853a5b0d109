"""Rows of Table 3 so small that they are run in seconds, and what is to be the same of two tables."""

import csv
from pathlib import Path

from tiny_commands import CORPUS_SETTINGS, write_corpus

# A thirty-second of the widths, and one layer: a row in seconds.
SCALE = f"""{CORPUS_SETTINGS}Scale.divisor = 32
Model.num_layers = 1
Model.max_length = 37
Training.num_steps = 24
Training.log_every_steps = 8
Training.evaluate_every_steps = 24
Training.checkpoint_every_steps = 10
Training.keep_checkpoints = 2
Decoding.max_extra_length = 3
"""


def write_scale(folder: Path) -> Path:
    """A scale file beside a tiny corpus."""
    text = write_corpus(folder / "text").parent
    path = text / "scale.gin"
    places = f'Data.directory = "{text}"\nData.cache_directory = "{text / "cache"}"\n'
    path.write_text(SCALE + places, encoding="utf-8")
    return path


def quality(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV without what a clock said."""
    with path.open(newline="") as file:
        return [{name: value for name, value in row.items() if "seconds" not in name} for row in csv.DictReader(file)]
