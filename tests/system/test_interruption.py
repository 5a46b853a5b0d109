"""A run that is killed, started, asked to stop and started again ends as the one that nobody disturbed."""

import os
import re
import signal
import subprocess
import sys

import pytest
from tiny_commands import PROJECT_ROOT, write_corpus

from transformer_jax.training.metrics_log import read_metrics

SETTINGS = {
    "Model.dropout_rate": 0.1,
    "Training.num_steps": 240,
    "Training.log_every_steps": 8,
    "Training.evaluate_every_steps": 48,
    "Training.checkpoint_every_steps": 20,
    "Batching.tokens_per_device": 512,
}


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    """`train(workdir)` starts the command on one device; its standard error can be read as it comes."""
    config = write_corpus(tmp_path_factory.mktemp("corpus") / "text")
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"} | {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("compiled")),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    bindings = [f"--gin_param={name} = {value}" for name, value in SETTINGS.items()]
    command = [sys.executable, "-m", "experiments.train", f"--gin_file={config}", *bindings]

    def start(workdir) -> subprocess.Popen:
        return subprocess.Popen(
            [*command, f"--workdir={workdir}"], cwd=PROJECT_ROOT, env=environment, stderr=subprocess.PIPE, text=True
        )

    return start


def signalled(process: subprocess.Popen, number: int, *, at_step: int) -> tuple[int, str]:
    """Sends the signal once the run has told of the step; how it ended and what it said after that."""
    with process:
        for line in process.stderr:
            if (told := re.match(r"step +(\d+)/", line)) and int(told[1]) >= at_step:
                process.send_signal(number)
                return process.wait(), process.stderr.read()
    raise AssertionError(f"it ended with {process.returncode} before it could be interrupted")


def parameters_of(workdir):
    """The arrays of the newest checkpoint, by the checksums that stand beside them."""
    newest = max((workdir / "checkpoints").iterdir(), key=lambda path: int(path.name))
    return newest.name, (newest / "manifest" / "metadata").read_text()


@pytest.mark.slow
def test_interruptions_leave_no_trace(train, tmp_path):
    with train(tmp_path / "undisturbed") as process:
        process.communicate()
    assert process.returncode == 0

    workdir = tmp_path / "disturbed"
    code, _ = signalled(train(workdir), signal.SIGKILL, at_step=32)
    assert code == -signal.SIGKILL
    saved = sorted(int(path.name) for path in (workdir / "checkpoints").iterdir() if path.name.isdigit())
    assert 0 < saved[-1] < 240

    code, told = signalled(train(workdir), signal.SIGTERM, at_step=120)
    stopped = re.search(r"stopped at step (\d+), saved", told)
    assert code == 0
    assert stopped
    assert any((workdir / folder / stopped[1]).is_dir() for folder in ("checkpoints", "interrupted"))
    assert 120 <= int(stopped[1]) < 240

    with train(workdir) as process:
        _, told = process.communicate()
    assert process.returncode == 0
    assert f"resumed from step {stopped[1]}" in told

    assert parameters_of(workdir) == parameters_of(tmp_path / "undisturbed")
    ours, theirs = (read_metrics(path / "metrics.jsonl") for path in (workdir, tmp_path / "undisturbed"))
    assert [record["step"] for record in ours] == sorted(record["step"] for record in ours)
    assert [record for record in ours if record["kind"] == "dev"] == [
        record for record in theirs if record["kind"] == "dev"
    ]
    batches, expected = (
        {(record["step"], record["batches_crc32"]) for record in records if record["kind"] == "train"}
        for records in (ours, theirs)
    )
    assert len(expected - batches) <= 1, "but for the window that the stop divided, each holds the same batches"
