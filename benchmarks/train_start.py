"""What a person waits for: `experiments.train` as a process of its own, until its first update begins and ends."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.train_side import ROOT, SideError

_MOST_TOUCHED = 8 << 30  # bytes
_TOUCH = "import sys, numpy; numpy.ones(int(sys.argv[1]), numpy.uint8)"


class Wait(NamedTuple):
    """Seconds from a process's start."""

    begins: float  # the first update is compiled and under way
    ends: float  # and its line is there


class Start(NamedTuple):
    """Twice the same."""

    cold: Wait  # nothing that was compiled is kept
    warm: Wait  # all is


def measure_start(workdir: Path, gin_files: Sequence[str], gin_params: Sequence[str]) -> Start:
    """Of a training text that is prepared. What is compiled stays in the workdir, for the next measurement too."""
    compiled, run = workdir.resolve() / "compiled", workdir.resolve() / "start"
    shutil.rmtree(compiled, ignore_errors=True)
    environment = os.environ | {"JAX_COMPILATION_CACHE_DIR": str(compiled)}
    flags = [*(f"--gin_file={file}" for file in gin_files), *(f"--gin_param={param}" for param in gin_params)]
    command = [sys.executable, "-m", "experiments.train", *flags, f"--workdir={run}"]
    found = []
    for _ in range(2):
        shutil.rmtree(run, ignore_errors=True)
        _touch_memory()
        found.append(_first_update(command, environment))
    shutil.rmtree(run)
    return Start(*found)


def _touch_memory() -> None:
    """By another process: a virtual machine's host may take seconds to give a gibibyte that nobody touched lately."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    subprocess.run([sys.executable, "-c", _TOUCH, str(min(free // 2, _MOST_TOUCHED))], check=True)


def _first_update(command: Sequence[str], environment: dict[str, str]) -> Wait:
    """It is killed then: the checkpoints of a few updates are no good to anybody."""
    started, begins = time.monotonic(), None
    with subprocess.Popen(command, env=environment, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("compiled, step 1 "):
                begins = time.monotonic() - started
            if begins and line.split()[:1] == ["step"]:
                ends = time.monotonic() - started
                process.kill()
                return Wait(begins, ends)
    raise SideError(f"experiments.train ended with code {process.returncode}: {said[-1].strip() if said else ''}")
