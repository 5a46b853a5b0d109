"""Tiny runs of several processes, and what one of them does as a program.

`python process_worker.py WORKDIR COORDINATOR NUM_PROCESSES PROCESS_ID CHANGES`: the changes, as JSON, are those of
`tiny_experiment`. It prints the steps of an epoch, what it is told, and its records. Alone it has no coordinator: "-".
"""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiny_experiment import random_corpus, tiny_experiment

from transformer_jax import parallel
from transformer_jax.training.loop import Observer, batch_plan, train

TESTS = Path(__file__).resolve().parent
TRAIN, DEV = random_corpus(1, 61), random_corpus(2, 13)


def main() -> None:
    workdir, coordinator, num_processes, process_id, changes = sys.argv[1:]
    if coordinator != "-":
        parallel.initialize(coordinator, int(num_processes), int(process_id))
    experiment = tiny_experiment(**json.loads(changes))
    print(batch_plan(experiment, TRAIN).steps_per_epoch, flush=True)
    watched = Observer(lambda record: print(json.dumps(record), flush=True), print, lambda: False)
    train(experiment, TRAIN, DEV, Path(workdir), watched)
    parallel.finish()


def start(command: Sequence[str], *, devices: int, compiled: Path) -> subprocess.Popen:
    """A program on so many devices; what it compiles, quickly, is kept."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)]),
        "XLA_FLAGS": os.environ["XLA_FLAGS"].replace("device_count=8", f"device_count={devices}"),
        "JAX_COMPILATION_CACHE_DIR": str(compiled),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    }
    return subprocess.Popen(
        [sys.executable, *command], env=environment, cwd=TESTS.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip


def free_address() -> str:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return "{}:{}".format(*taken.getsockname())


def start_run(workdir: Path, processes: int, devices: int, *, compiled: Path, **changes) -> list[subprocess.Popen]:
    """A run of so many processes with so many devices each."""
    coordinator = free_address() if processes > 1 else "-"
    commands = [worker(workdir, coordinator, processes, process, changes) for process in range(processes)]
    return [start(command, devices=devices, compiled=compiled) for command in commands]


def worker(workdir: Path, coordinator: str, processes: int, process: int, changes: dict[str, Any]) -> list[str]:
    """The command of one of them."""
    numbers = map(str, (processes, process))
    return [str(TESTS / "process_worker.py"), str(workdir), coordinator, *numbers, json.dumps(changes)]


def ends_well(running: Sequence[subprocess.Popen]) -> list[str]:
    """What each process printed."""
    ended = [process.communicate() for process in running]
    for process, (_, err) in zip(running, ended, strict=True):
        assert process.returncode == 0, err
    return [out for out, _ in ended]


if __name__ == "__main__":
    main()
