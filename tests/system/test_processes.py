"""`train` in several processes: what becomes of all when one is asked to stop, fails or is killed."""

import re
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from process_worker import free_address, start
from tiny_commands import require_one_line, run_command, write_corpus

from transformer_jax import parallel

ENDLESS = {"num_steps": 10**6, "log_every_steps": 5, "checkpoint_every_steps": 20, "evaluate_every_steps": 10**6}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("compiled")


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "text")


@pytest.fixture
def train(config, compiled):
    """`train(workdir, number of steps)` starts two processes with two devices each."""

    def begin(workdir: Path, **changes: int) -> list[subprocess.Popen]:
        bindings = [f"--gin_param=Training.{name} = {value}" for name, value in {**ENDLESS, **changes}.items()]
        command = ["-m", "experiments.train", f"--gin_file={config}", f"--workdir={workdir}", *bindings]
        together = [*command, f"--coordinator={free_address()}", "--num_processes=2"]
        return [start([*together, f"--process_id={process}"], devices=2, compiled=compiled) for process in (0, 1)]

    return begin


def wait_for_step(first: subprocess.Popen, step: int) -> None:
    for line in first.stderr:
        if (told := re.match(r"step +(\d+)/", line)) and int(told[1]) >= step:
            return
    raise AssertionError("it has ended")


def ended(running: Sequence[subprocess.Popen]) -> tuple[list[int], list[str]]:
    """Exit codes, and what stands on standard error."""
    said = [process.communicate()[1] for process in running]
    return [process.returncode for process in running], said


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_of_one_stops_all_at_one_step_and_they_go_on_together(train, tmp_path, number):
    running = train(tmp_path / "run")
    wait_for_step(running[0], 25)
    running[1].send_signal(number)
    codes, (told, silent) = ended(running)
    assert codes == [0, 0]
    step = int(re.search(r"stopped at step (\d+), saved; the same command goes on from here", told)[1])
    assert silent == ""
    assert any((tmp_path / "run" / folder / str(step)).is_dir() for folder in ("checkpoints", "interrupted"))
    again = train(tmp_path / "run")
    wait_for_step(again[0], step + 1)
    again[0].send_signal(number)
    codes, _ = ended(again)
    assert codes == [0, 0]


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_process_ends_the_others(train, tmp_path, victim):
    running = train(tmp_path / "run")
    wait_for_step(running[0], 25)
    running[victim].kill()
    began = time.monotonic()
    other = running[1 - victim]
    other.communicate()
    assert other.returncode != 0
    assert time.monotonic() - began < parallel.LOST_AFTER_SECONDS + 15
    running[victim].communicate()
    saved = max(int(path.name) for path in (tmp_path / "run" / "checkpoints").iterdir() if path.name.isdigit())
    assert saved >= 20


@pytest.mark.slow
def test_a_process_that_fails_says_why_and_ends_the_others(train, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("of something else")
    codes, (told, _) = ended(train(tmp_path / "run"))
    assert codes[0] == 1
    assert told.splitlines()[-1].startswith(f"error: {tmp_path / 'run'} is not empty and not a run's")
    assert codes[1] != 0


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (["--coordinator=a:1", "--num_processes=2"], "--coordinator, --num_processes and --process_id need each other"),
        (["--process_id=0"], "--coordinator, --num_processes and --process_id need each other"),
        (["--coordinator=a", "--num_processes=2", "--process_id=1"], "--coordinator=a: must be HOST:PORT"),
        (
            ["--coordinator=a:1", "--num_processes=2", "--process_id=2"],
            "--process_id=2: must be from 0 to --num_processes - 1",
        ),
        (
            ["--distributed", "--process_id=2"],
            "--distributed finds out what --coordinator, --num_processes and --process_id would say",
        ),
    ],
)
def test_flags_that_do_not_fit_are_refused(flags, line, tmp_path):
    ended = run_command("train", "--gin_file=x.gin", f"--workdir={tmp_path / 'run'}", *flags)
    require_one_line(ended, re.escape(f"{line} (--help lists the flags)"))
    assert not (tmp_path / "run").exists()


def test_a_cluster_that_is_none_is_not_joined(config, compiled, tmp_path):
    command = ["-m", "experiments.train", f"--gin_file={config}", f"--workdir={tmp_path / 'run'}", "--distributed"]
    process = start(command, devices=1, compiled=compiled)
    _, err = process.communicate()
    assert process.returncode == 1
    assert err == (
        "error: the processes of this run do not meet: JAX detects no cluster that this process belongs to\n"
    )
    assert not (tmp_path / "run").exists()
