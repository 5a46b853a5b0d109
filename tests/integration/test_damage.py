"""A checkpoint that a full disk or a crash has cut short."""

import os
import shutil
import subprocess
import sys

import pytest
from tiny_commands import PROJECT_ROOT, run_command, snapshot

from experiments.weights import param_shapes
from experiments.workdir import read_experiment
from transformer_jax.training.checkpoint import Checkpoints, manifest
from transformer_jax.training.metrics_log import read_metrics


def cut_parameters(checkpoint):
    (arrays,) = (checkpoint / "params" / "d").iterdir()
    os.truncate(arrays, arrays.stat().st_size // 2)


@pytest.fixture
def damaged(trained, tmp_path):
    """The run, unevaluated, whose newest checkpoint is half there."""
    run = shutil.copytree(trained, tmp_path / "run")
    shutil.rmtree(run / "averaged", ignore_errors=True)
    cut_parameters(run / "checkpoints" / "150")
    return run


def averaged(run):
    """Names, shapes and checksums of the mean of its checkpoints' parameters."""
    experiment = read_experiment(run, [], [])
    params, steps = Checkpoints(run / "checkpoints", keep=3).average(3, param_shapes(experiment))
    return manifest(params), steps


def without_clock(records):
    """And without what is measured by it."""
    return [{n: record[n] for n in record if "second" not in n and n != "utilisation"} for record in records]


def test_train_goes_on_from_the_one_before_says_so_and_arrives_at_the_same(damaged, trained, trained_config):
    ended = run_command("train", f"--gin_file={trained_config}", f"--workdir={damaged}")
    assert ended.code == 0
    told = [line for line in ended.err.splitlines() if "checkpoint" in line or "resumed" in line]
    assert len(told) == 2
    assert told[0].startswith(f"checkpoint {damaged}/checkpoints/150 is damaged: ")
    assert told[1] == "resumed from step 100"
    assert averaged(damaged) == averaged(trained)
    records = [without_clock(read_metrics(run / "metrics.jsonl")) for run in (damaged, trained)]
    assert records[0] == records[1]


def test_translate_names_it_and_changes_nothing(damaged):
    before = snapshot(damaged)
    ended = run_command("translate", f"--workdir={damaged}", stdin=b"the old cat\n")
    assert (ended.code, ended.out) == (1, b"")
    (line,) = ended.err.splitlines()
    assert line.startswith(f"error: checkpoint {damaged}/checkpoints/150 is damaged: ")
    assert snapshot(damaged) == before


def test_as_a_process_of_its_own_too(damaged):
    """Nothing that the libraries log, nor a traceback, stands beside the one line."""
    before = snapshot(damaged)
    command = [sys.executable, "-m", "experiments.evaluate", f"--workdir={damaged}"]
    ended = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (1, "")
    (line,) = ended.stderr.splitlines()
    assert line.startswith(f"error: checkpoint {damaged}/checkpoints/150 is damaged: ")
    assert snapshot(damaged) == before


def test_a_damaged_average_is_named_with_its_cure(copied):
    shutil.rmtree(copied / "averaged", ignore_errors=True)
    assert run_command("translate", f"--workdir={copied}").code == 0
    cut_parameters(copied / "averaged" / "100_150")
    ended = run_command("translate", f"--workdir={copied}", stdin=b"the old cat\n")
    assert (ended.code, ended.out) == (1, b"")
    (line,) = ended.err.splitlines()
    assert line.startswith(f"error: average {copied}/averaged/100_150 is damaged: ")
    assert line.endswith("; delete it: it is made anew from the checkpoints")
    shutil.rmtree(copied / "averaged" / "100_150")
    assert run_command("translate", f"--workdir={copied}").code == 0


def test_changes_that_are_accepted_leave_no_weights_of_before(copied, trained_config):
    """Checkpoints made anew with another seed bear the same steps; the mean of the old ones must not stand for them."""
    assert run_command("translate", f"--workdir={copied}").code == 0
    assert (copied / "averaged" / "100_150").is_dir()
    flags = ["--accept_changes", "--gin_param=Training.label_smoothing = 0.2"]
    ended = run_command("train", f"--gin_file={trained_config}", f"--workdir={copied}", *flags)
    assert ended.code == 0
    assert "overridden: Training.label_smoothing: 0.1 -> 0.2\n" in ended.err
    assert not (copied / "averaged").exists()
