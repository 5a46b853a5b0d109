"""What a person waits for and pays: `experiments.translate` as a process of its own, and its memory."""

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    """Times in seconds, from the start of a process."""

    cold: float  # to the first translation, when nothing that was compiled is kept
    warm: float  # the same again
    whole: float  # of all lines, to the end
    memory: float  # GiB, at most


def measure_process(workdir: Path, run: Path, lines: Sequence[str], settings: Sequence[str]) -> Process:
    """Keeps what is compiled in the workdir. To be called while this process is small: a child that has not yet become
    another program counts for as much memory as its parent has.
    """
    compiled = workdir.resolve() / "compiled"
    shutil.rmtree(compiled, ignore_errors=True)
    environment = os.environ | {"JAX_COMPILATION_CACHE_DIR": str(compiled)}
    params = [f"--gin_param={setting}" for setting in settings]
    command = [sys.executable, "-m", "experiments.translate", f"--workdir={run}", *params]
    cold, warm = (_first_line(command, environment, lines[0]) for _ in range(2))
    started = time.monotonic()
    text = "".join(f"{line}\n" for line in lines).encode()
    subprocess.run(command, env=environment, input=text, stdout=subprocess.DEVNULL, check=True)
    whole = time.monotonic() - started
    return Process(cold, warm, whole, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20)


def _first_line(command: Sequence[str], environment: dict[str, str], line: str) -> float:
    started = time.monotonic()
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{line}\n")
        process.stdin.close()
        process.stdout.readline()
        seconds = time.monotonic() - started
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return seconds
