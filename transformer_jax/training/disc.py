"""A disc without room becomes one line: where, how much is free, and how much is needed where that is known."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax

from transformer_jax.errors import UserError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # also a quota, and a limit on files' sizes
_BESIDE_ARRAYS = 2**20  # names, shapes and checksums of a checkpoint, and what a file takes at least


class FullDiscError(UserError):
    """Nothing more can be written: the message names the folder."""


def require_room(folder: Path, arrays: Any) -> None:
    """Raises FullDiscError unless the arrays can be written there: before half of them are."""
    wanted = sum(leaf.nbytes for leaf in jax.tree.leaves(arrays)) + _BESIDE_ARRAYS
    if _free(folder) < wanted:
        raise _full(folder, wanted)


@contextmanager
def told_if_full(folder: Path) -> Iterator[None]:
    """What is raised for want of room in `folder` is raised as FullDiscError, by whatever library."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # TensorStore's is a ValueError, of which the system's words are a part
        words = isinstance(error, OSError) and error.errno in _FULL
        if not words and not any(os.strerror(number) in str(error) for number in _FULL):
            raise
        raise _full(folder) from error


def _full(folder: Path, wanted: int | None = None) -> FullDiscError:
    free = f"{_free(folder) / 2**20:,.1f} MiB are free"
    also = f", {wanted / 2**20:,.1f} MiB are needed" if wanted is not None else ""
    return FullDiscError(f"{folder}: the disc is full: {free}{also}; make room, and the same command goes on from here")


def _free(folder: Path) -> int:
    """Bytes, also where the folder itself is not there yet."""
    there = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    return shutil.disk_usage(there).free
