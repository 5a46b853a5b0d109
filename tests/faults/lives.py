"""Lives of a run: processes that are forked from this one, which has imported all that they need and has begun nothing.

So a life costs what the run does, and not what Python's and JAX's start costs: hundreds can be ended.
"""

import importlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from experiments import command


class Life:
    """A process that calls `body`, what it says going to the file `said`."""

    def __init__(self, body: Callable[[], None], said: Path):
        self._said = said
        self.code: int | None = None  # of its end; as the system gives it: minus the signal that ended it
        self.pid = os.fork()
        if self.pid == 0:
            _live(body, said)

    @property
    def alive(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code is None

    def end(self, number: int | None = None) -> int:
        """Waits for its end, after the signal if there is one; its code."""
        if number is not None and self.alive:
            os.kill(self.pid, number)
        while self.alive:
            time.sleep(0.002)
        return self.code

    def said(self) -> str:
        return self._said.read_text()


def _live(body: Callable[[], None], said: Path) -> None:
    code = 1
    try:
        out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, sys.stdout.fileno())
        os.dup2(out, sys.stderr.fileno())
        body()
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def command_of(name: str, *flags: str) -> Callable[[], None]:
    """What `python -m experiments.NAME FLAGS` does."""
    module = importlib.import_module(f"experiments.{name}")

    def body() -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.default_int_handler)
        sys.argv = [str(module.__file__), *flags]
        command.run(module.main)

    return body
