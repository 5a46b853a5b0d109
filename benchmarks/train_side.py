"""A side of the comparison: a process of its own, that works when it is asked to and waits otherwise."""

import json
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from transformer_jax.errors import UserError

ROOT = Path(__file__).resolve().parents[1]


class SideError(UserError):
    """A side has ended before it was asked to."""


class Turn(NamedTuple):
    """One turn of a side."""

    seconds: float
    foreign: float  # the share of the machine's processors that others had meanwhile
    gib: float  # the most memory that the side ever had
    peak: float  # FLOP/s of our matrix product, just before


class Side:
    """Its first line of JSON is `beginning`; then it answers each line that it is told with another."""

    def __init__(self, name: str, command: Sequence[str], environment: dict[str, str]):
        self.name = name
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, **pipes, env=environment, cwd=ROOT, text=True)  # type: ignore[call-overload]
        self.beginning = self._answer()

    def ask(self, what: str) -> dict[str, Any]:
        self._process.stdin.write(f"{what}\n")
        self._process.stdin.flush()
        return self._answer()

    def turn(self, peak: float) -> Turn:
        process = psutil.Process(self._process.pid)
        own, all_, started = _busy(process.cpu_times()), _busy(psutil.cpu_times()), time.monotonic()
        answer = self.ask("go")
        seconds = time.monotonic() - started
        others = _busy(psutil.cpu_times()) - all_ - (_busy(process.cpu_times()) - own)
        foreign = max(others / seconds / (psutil.cpu_count() or 1), 0.0)
        return Turn(answer["seconds"], foreign, answer["gib"], peak)

    def end(self) -> None:
        with self._process:  # closes what it reads, waits
            pass

    def _answer(self) -> dict[str, Any]:
        line = self._process.stdout.readline()
        if not line:
            self.end()
            raise SideError(f"{self.name} ended with code {self._process.returncode}")
        return json.loads(line)


def _busy(times: Any) -> float:
    """Seconds that processors computed."""
    return times.user + times.system + getattr(times, "nice", 0.0)
