"""What a person waits for: `experiments.train` as a process of its own, from its start to the first update's line."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.train_side import ROOT, SideError


class Start(NamedTuple):
    """Seconds to the first update's end."""

    cold: float  # nothing that was compiled is kept
    warm: float  # the same again


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
        found.append(_first_update(command, environment))
    shutil.rmtree(run)
    return Start(*found)


def _first_update(command: Sequence[str], environment: dict[str, str]) -> float:
    """It is killed then: the checkpoints of a few updates are no good to anybody."""
    started = time.monotonic()
    with subprocess.Popen(command, env=environment, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if line.split()[:1] == ["step"]:
                seconds = time.monotonic() - started
                process.kill()
                return seconds
    raise SideError(f"experiments.train ended with code {process.returncode}: {said[-1].strip() if said else ''}")
