"""Trees as pictures, a file each."""

from pathlib import Path

from experiments.workdir import WorkdirError, write_text
from transformer_jax.trees.drawing.svg import svg_drawing
from transformer_jax.trees.tree import Tree


class Pictures:
    """A folder of pictures, named by the numbers of their lines.

    Raises:
      WorkdirError: there is something in the folder already, or it is a file.
    """

    def __init__(self, folder: Path):
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise WorkdirError(f"{folder} is not an empty folder: choose another --svg")
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def add(self, number: int, tree: Tree) -> None:
        write_text(self._folder / f"{number:06}.svg", svg_drawing(tree))
