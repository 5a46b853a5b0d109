"""The files that one sentence gives: the page and the pictures."""

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from experiments.attention.drawing import save
from experiments.attention.lines import lines_figure
from experiments.attention.page import page
from experiments.attention.run import AttentionError
from experiments.attention.seen import Seen
from experiments.attention.sheet import sheet_figure
from experiments.attention.view import View
from experiments.workdir import write_text

PICTURES: dict[str, Callable[[Seen, View], Figure]] = {
    "lines": lambda seen, view: lines_figure(seen.stacks[view.stack], view),  # what is chosen
    "heads": lambda seen, view: sheet_figure(seen.stacks[view.stack], view),  # all heads of its layer
}


def new_folder(into: Path | None, workdir: Path) -> Path:
    """`into`, which must be empty or not there, or else the next number in the run's `attention` folder.

    Raises:
      AttentionError: there is something in `into`, or it is a file.
    """
    if into is None:
        return _next_folder(workdir / "attention")
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise AttentionError(f"{into} is not an empty folder: choose another --into")
    into.mkdir(parents=True, exist_ok=True)
    return into


def _next_folder(parent: Path) -> Path:
    number = 1
    while True:
        folder = parent / f"{number:03}"
        try:
            folder.mkdir(parents=True)
            return folder
        except FileExistsError:
            number += 1


def write(seen: Seen, view: View, folder: Path) -> list[Path]:
    """The page of everything, and both pictures as .png and .svg."""
    html = folder / "attention.html"
    write_text(html, page(seen, view))
    return [html, *(path for name, draw in PICTURES.items() for path in save(draw(seen, view), folder / name))]
