"""Folders that appear whole or not at all, also where the process that makes them is killed."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yields a folder to write into, which then becomes `folder`; what a killed process left of it is made anew."""
    temporary = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    yield temporary
    os.replace(temporary, folder)
