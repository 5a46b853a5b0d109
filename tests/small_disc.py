"""A disc of a size of ours, and what fills it."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class MountError(Exception):
    """It is not allowed to mount a file system here."""


@contextmanager
def mounted(folder: Path, kibibytes: int) -> Iterator[Path]:
    """A disc of that size, mounted at `folder`, which is made."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={kibibytes}k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(["mount", *options], capture_output=True).returncode:
        raise MountError
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def small_disc(folder: Path, kibibytes: int) -> Iterator[Path]:
    """The same; a test is skipped where it is not allowed."""
    try:
        with mounted(folder, kibibytes) as disc:
            yield disc
    except MountError:
        pytest.skip("needs leave to mount a file system")


def fill(disc: Path, *, leave: int) -> Path:
    """A file that leaves so many bytes."""
    path = disc / "other_things"
    path.write_bytes(b"")
    status = os.statvfs(disc)
    path.write_bytes(bytes(max(status.f_bavail * status.f_frsize - leave, 0)))
    return path
