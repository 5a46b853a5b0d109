"""What folders may hold that is to be reported: by which file it is known, and what is said of it."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from experiments.reporting import run


class Picture(NamedTuple):
    """A file of the folder, and what it shows."""

    file: str
    shows: str


class Kind(NamedTuple):
    """One thing that a folder may hold."""

    file: str  # it is there if this is
    headline: Callable[[Path], str]  # of the folder, in a line
    section: Callable[[Path], str]  # Markdown
    pictures: tuple[Picture, ...] = ()


def _said(text: str) -> Callable[[Path], str]:
    return lambda _: text


def _first_line(file: str) -> Callable[[Path], str]:
    return lambda folder: _read(folder / file).split("\n")[0]


def _after_first_line(file: str) -> Callable[[Path], str]:
    return lambda folder: _read(folder / file).partition("\n\n")[2]


def _text(*files: str) -> Callable[[Path], str]:
    """Files that are Markdown already, one after the other."""
    return lambda folder: "\n".join(_read(folder / file) for file in files)


def _read(path: Path) -> str:
    """A title is of a level below the page's own."""
    text = path.read_text(encoding="utf-8")
    return f"#{text}" if text.startswith("# ") else text


def _tally(folder: Path) -> str:
    lines = _read(folder / "table3_conclusions.md").split("\n")
    return f"Table 3. {next(line for line in lines if line.startswith('Of '))}"


KINDS = (
    Kind("results.json", run.headline, run.section),
    Kind(
        "averaging.md",
        _said("BLEU by the number of checkpoints that are averaged."),
        _text("averaging.md"),
        (Picture("averaging.png", "BLEU by the number of checkpoints that are averaged"),),
    ),
    Kind(
        "table1.md",
        _said("Table 1: operations, time, depth and path lengths of the four layer types, measured."),
        _text("table1.md"),
        (Picture("table1.png", "Operations and time of the four layer types"),),
    ),
    Kind(
        "table2.md",
        _said("Table 2: BLEU two ways and costs three ways, beside the paper's, which are recomputed."),
        _text("table2.md"),
    ),
    Kind(
        "table3.md",
        _tally,
        _text("table3.md", "table3_conclusions.md"),
        (Picture("table3.png", "Every row's distance from base, ours and the paper's"),),
    ),
    Kind("table4.md", _first_line("table4.md"), _after_first_line("table4.md")),
    Kind(
        "curves.md",
        _first_line("curves.md"),
        _after_first_line("curves.md"),
        (Picture("curves.png", "Loss, perplexity, BLEU, learning rate, gradients and speed, against updates"),),
    ),
    Kind("benchmark.md", _first_line("benchmark.md"), _after_first_line("benchmark.md")),
)
