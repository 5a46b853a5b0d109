"""A worker of the toy sweep as a process: `python sweep_worker.py WORKDIR NUM_TRIALS STORAGE|- LOG [SECONDS]`.

It notes in LOG which run it begins; a step of training takes SECONDS.
"""

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from toy_sweep import Machine, observer, trials


def main() -> None:
    workdir, count, storage, log, seconds = sys.argv[1:]
    machine = Machine()
    train = machine.train

    def noted(folder, experiment, watched):
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{folder.parent.name}/{folder.name} {os.getpid()}\n")
        record = watched.record
        train(folder, experiment, replace(watched, record=lambda logged: (time.sleep(float(seconds)), record(logged))))

    machine.train = noted
    machine.install(pytest.MonkeyPatch())
    sweep = trials(Path(workdir), f"Sweep.trials = {count}", storage=None if storage == "-" else storage)
    sweep.work(observer=observer())


if __name__ == "__main__":
    main()
