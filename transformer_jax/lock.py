"""Who does something in a folder: one process at a time, on this machine or on another that shares the file system."""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def taken(path: Path) -> Iterator[str | None]:
    """Takes the lock file `path` for this process, and yields None; or, when another has it, says who.

    The operating system lets go of it when the process ends, however it ends: no lock is ever stale. The file stays.
    """
    with path.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            yield file.read() or "another process"
            return
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
        yield None


@contextmanager
def waited_for(path: Path) -> Iterator[None]:
    """Takes the lock file `path`, when whoever has it lets go of it: for what takes a moment."""
    with path.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
