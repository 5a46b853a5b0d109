"""A page of `docs` for each folder of results, and a list of such pages."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from experiments.markdown import listed
from experiments.reporting.kinds import KINDS, Kind, Picture
from experiments.workdir import WorkdirError, write_text

_MARK = "<!-- written by experiments.report from "


def page_of(folder: Path, docs: Path) -> Path:
    return docs / f"{folder.name}.md"


def write_page(folder: Path, docs: Path) -> bool:
    """Writes the folder's page and copies its pictures; False, and nothing, where the folder holds no results.

    Raises:
      WorkdirError: another page stands there, or a file of the folder cannot be read.
    """
    kinds = [kind for kind in KINDS if (folder / kind.file).exists()]
    if not kinds:
        return False
    path = page_of(folder, docs)
    if path.exists() and not path.read_text(encoding="utf-8").partition("\n\n")[2].startswith(_MARK):
        raise WorkdirError(f"{path} is another's page: {folder} needs another name")
    docs.mkdir(exist_ok=True)
    sections = [section for kind in kinds for section in _sections(kind, folder, docs)]
    head = [f"# {folder.name}\n", f"{_MARK}{folder} -->\n", f"{kinds[0].headline(folder)}\n"]
    write_text(path, "\n".join([*head, *sections]))
    return True


def _sections(kind: Kind, folder: Path, docs: Path) -> list[str]:
    pictures = [each for each in kind.pictures if (folder / each.file).exists()]
    for picture in pictures:
        shutil.copyfile(folder / picture.file, docs / _copy(folder, picture))
    shown = [f"![{picture.shows}]({_copy(folder, picture)})\n" for picture in pictures]
    return [kind.section(folder), *shown]


def _copy(folder: Path, picture: Picture) -> str:
    """ "table3_builtin.png" for table3.png of table3_builtin, "tiny_averaging.png" for averaging.png of tiny."""
    stem = Path(picture.file).stem
    return f"{folder.name}.png" if folder.name.startswith(stem) else f"{folder.name}_{picture.file}"


def contents(pages: Sequence[Path], root: Path) -> str:
    """Each page's headline, with a link that starts at `root`."""
    return listed(f"[{page.stem}]({page.relative_to(root).as_posix()}): {_headline(page)}" for page in pages)


def _headline(page: Path) -> str:
    return page.read_text(encoding="utf-8").split("\n\n")[2].strip()
