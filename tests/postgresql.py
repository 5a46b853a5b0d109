"""A PostgreSQL server for a test, from the programs that a Debian package installs; it goes with the test."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_NOBODY = 65534  # the server will not run as root


def _programs() -> Path | None:
    found = shutil.which("initdb")
    folders = [*sorted(Path("/usr/lib/postgresql").glob("*/bin")), *([Path(found).resolve().parent] if found else [])]
    return next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)


@contextmanager
def server() -> Iterator[str]:
    """Yields the URL of its database; skips the test where there is no server or no driver."""
    pytest.importorskip("psycopg", reason="needs psycopg: pip install -r requirements-cluster.txt")
    programs = _programs()
    if programs is None:
        pytest.skip("needs a PostgreSQL server: apt-get install postgresql")
    is_root = os.geteuid() == 0
    as_user = {"user": _NOBODY, "group": _NOBODY} if is_root else {}
    with tempfile.TemporaryDirectory() as folder:
        if is_root:
            os.chown(folder, _NOBODY, _NOBODY)
        data, port = Path(folder) / "data", _free_port()
        make = [programs / "initdb", "-D", data, "-U", "sweeper", "-A", "trust", "--no-sync"]
        subprocess.run(make, check=True, capture_output=True, cwd=folder, **as_user)
        run = [programs / "postgres", "-D", data, "-h", "127.0.0.1", "-p", str(port), "-k", folder, "-F"]
        with subprocess.Popen(run, stderr=subprocess.PIPE, text=True, cwd=folder, **as_user) as process:
            try:
                next(line for line in process.stderr if "ready to accept connections" in line)
                yield f"postgresql+psycopg://sweeper@127.0.0.1:{port}/postgres"
            finally:
                process.send_signal(signal.SIGINT)  # SIGTERM would wait for clients to leave


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
