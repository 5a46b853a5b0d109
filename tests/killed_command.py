"""A command as a process of its own on one device, killed wherever a test wants it."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tiny_commands import PROJECT_ROOT

Start = Callable[[Path], subprocess.Popen]


def starter(compiled: Path, *command: str) -> Start:
    """`start(workdir)` begins `python -m experiments.COMMAND --workdir=...`; what it compiles is kept in `compiled`."""
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"} | {
        "JAX_COMPILATION_CACHE_DIR": str(compiled),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    name, *flags = command

    def start(workdir: Path) -> subprocess.Popen:
        return subprocess.Popen(
            [sys.executable, "-m", f"experiments.{name}", *flags, f"--workdir={workdir}"],
            cwd=PROJECT_ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    return start


def run(start: Start, workdir: Path) -> None:
    """To its end, which must be a good one."""
    with start(workdir) as process:
        assert process.wait() == 0, process.stderr.read()


def kill(start: Start, workdir: Path, after_lines: Sequence[int]) -> None:
    """Begins the command again and again, and kills it after so many lines on standard error, mostly before its end."""
    killed = 0
    for lines in after_lines:
        with start(workdir) as process:
            for _ in range(lines):
                process.stderr.readline()
            process.kill()
            killed += process.wait() != 0
    assert killed >= len(after_lines) - 2, "the others had ended before"
