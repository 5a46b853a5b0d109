"""What the pictures share: a figure on white, tokens as text, and files that are whole and the same each time."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure

from experiments.workdir import whole_file

INK, QUIET = "#1c2127", "#8a929c"
LEAST = 0.01  # weights below are not drawn


def save(drawn: Figure, path_without_suffix: Path, kinds: Sequence[str] = ("png", "svg")) -> list[Path]:
    """A file of each kind; letters that the font lacks are drawn as boxes."""
    written = []
    for kind in kinds:
        path = path_without_suffix.with_name(f"{path_without_suffix.name}.{kind}")
        # Equal pictures are equal files.
        same = matplotlib.rc_context({"svg.hashsalt": "attention"})
        with whole_file(path) as temporary, same, warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
            drawn.savefig(temporary, format=kind, metadata={"Date": None} if kind == "svg" else None)
        written.append(path)
    return written
