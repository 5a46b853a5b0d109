"""The devices of a run may belong to one process or to several: its batches, updates and records are the same."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from process_worker import DEV, TRAIN, ends_well, free_address, start, start_run, worker
from tiny_experiment import VOCAB_SIZE, tiny_experiment
from train_states import assert_equal, silent, state_at

from experiments.weights import param_shapes
from transformer_jax import parallel
from transformer_jax.file_checksums import keep_checksums
from transformer_jax.model.transformer import Transformer
from transformer_jax.training.checkpoint import Checkpoints
from transformer_jax.training.loop import Observer, batch_plan, train
from transformer_jax.training.metrics_log import read_metrics
from transformer_jax.training.optimizer import make_optimizer
from transformer_jax.training.step import initial_state, make_train_step

pytestmark = pytest.mark.usefixtures("compiled_once")
# Sixteen rows a batch, two micro-batches of a row for each of eight devices; but one batch of an epoch is not full.
CHANGES: dict[str, Any] = {
    "num_steps": 20, "log_every_steps": 10, "tokens_per_batch": 128, "tokens_per_device": 8, "num_shapes": 1,
}  # fmt: skip
SILENT = Observer(lambda _: None, lambda _: None, lambda: False)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("compiled_by_processes")


@pytest.fixture(scope="module")
def on_eight_devices(tmp_path_factory) -> Path:
    """The workdir of a run of this process and its eight devices."""
    workdir = tmp_path_factory.mktemp("one_process")
    train(tiny_experiment(**CHANGES), TRAIN, DEV, workdir, SILENT)
    return workdir


def parameters(workdir: Path) -> list[np.ndarray]:
    params, _ = Checkpoints(workdir / "checkpoints", keep=3).average(1, param_shapes(tiny_experiment()))
    return jax.tree.leaves(params)


def checksums(workdir: Path, step: int = 20) -> str:
    """Of all arrays of a checkpoint."""
    return (workdir / "checkpoints" / str(step) / "manifest" / "metadata").read_text()


def difference(ours: Path, theirs: Path) -> float:
    """The largest of any two parameters."""
    pairs = zip(parameters(ours), parameters(theirs), strict=True)
    return max(float(np.abs(a - b).max()) for a, b in pairs)


def lasting(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what depends on the clock, and without the sum over processes of their checksums."""
    return [
        {name: value for name, value in record.items() if "second" not in name and name != "batches_crc32"}
        for record in records
    ]


def assert_is_the_run(workdir: Path, expected: Path) -> None:
    """To the order in which float32 sums: parameters are about 1, and learning rates were up to 0.1."""
    assert difference(workdir, expected) < 5e-5
    ours, theirs = (lasting(read_metrics(path / "metrics.jsonl")) for path in (workdir, expected))
    assert [record["step"] for record in ours] == [10, 20, 20]
    for our, their in zip(ours, theirs, strict=True):
        assert our.pop("kind") == their.pop("kind")
        assert our == pytest.approx(their, rel=1e-4)


def test_batches_are_ragged():
    plan = batch_plan(tiny_experiment(**CHANGES), TRAIN)
    assert plan.shapes == ((16, 8, 8),)
    assert sorted(len(plan.batch_indices(step)) for step in range(plan.steps_per_epoch)) == [13, 16, 16, 16]
    assert parallel.divide(16, 8, tokens_per_device=8) == (8, 2, 1)


def test_two_processes_are_one_run(on_eight_devices, compiled, tmp_path):
    said = ends_well(start_run(tmp_path / "run", 2, 4, compiled=compiled, **CHANGES))
    epochs, records = zip(*((line, rest) for line, *rest in (out.splitlines() for out in said)), strict=True)
    assert epochs == (str(batch_plan(tiny_experiment(**CHANGES), TRAIN).steps_per_epoch),) * 2
    first, second = ([json.loads(line) for line in lines if line.startswith("{")] for lines in records)
    assert lasting(first) == lasting(second), "both know what has been measured"
    assert first == read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert {path.name for path in (tmp_path / "run").iterdir()} == {path.name for path in on_eight_devices.iterdir()}
    assert_is_the_run(tmp_path / "run", on_eight_devices)


@pytest.mark.slow
def test_what_a_device_does_depends_on_no_process(on_eight_devices, compiled, tmp_path):
    """Dropout too; and a repeated run is the same to the last bit."""
    for name, processes, devices in (("first", 2, 4), ("again", 2, 4), ("more", 4, 2)):
        ends_well(start_run(tmp_path / name, processes, devices, compiled=compiled, **CHANGES))
        assert_is_the_run(tmp_path / name, on_eight_devices)
    assert checksums(tmp_path / "again") == checksums(tmp_path / "first") == checksums(tmp_path / "more")
    other = {**CHANGES, "seed": 4}
    ends_well(start_run(tmp_path / "other", 1, 8, compiled=compiled, **other))
    assert difference(tmp_path / "other", on_eight_devices) > 0.1, "or equality would be no wonder"


@pytest.mark.slow
def test_without_dropout_one_device_does_what_eight_do(compiled, tmp_path):
    changes = {**CHANGES, "dropout_rate": 0.0}
    for processes, devices in ((1, 1), (1, 8), (2, 4)):
        ends_well(start_run(tmp_path / f"{processes}", processes, devices, compiled=compiled, **changes))
        (tmp_path / f"{processes}").rename(tmp_path / f"{processes}x{devices}")
    for layout in ("1x8", "2x4"):
        assert_is_the_run(tmp_path / layout, tmp_path / "1x1")


@pytest.mark.slow
def test_a_run_goes_on_in_other_processes(on_eight_devices, compiled, tmp_path):
    for num_steps, processes, devices in ((5, 2, 4), (10, 1, 8), (15, 4, 2), (20, 1, 8)):
        changes = {**CHANGES, "num_steps": num_steps}
        said = ends_well(start_run(tmp_path, processes, devices, compiled=compiled, **changes))
        if num_steps > 5:
            assert [f"resumed from step {num_steps - 5}" in out for out in said] == [True] + [False] * (processes - 1)
    assert difference(tmp_path, on_eight_devices) < 5e-5


@pytest.mark.slow
def test_processes_with_different_settings_are_no_run(compiled, tmp_path):
    address = free_address()
    changes = [{**CHANGES, "seed": seed} for seed in (3, 4)]
    commands = [worker(tmp_path, address, 2, process, changes[process]) for process in (0, 1)]
    running = [start(command, devices=1, compiled=compiled) for command in commands]
    for process in running:
        _, err = process.communicate()
        assert process.returncode != 0
        assert "TrainingError: the processes of this run have different settings or texts" in err


def operations(step: Any, *arguments: Any) -> Counter[str]:
    """How many of each there are in what is compiled of a step."""
    text = re.sub(r"/\*.*?\*/", "", step.lower(*arguments).compile().as_text())
    return Counter(re.findall(r" = (?:\([^=]*?\)|\S+) ([a-z][a-z-]*)\(", text))


def between_devices_or_with_the_host(found: Counter[str]) -> dict[str, int]:
    kinds = ("all-", "reduce-scatter", "collective", "send", "recv", "infeed", "outfeed", "custom-call", "async")
    return {operation: number for operation, number in found.items() if operation.startswith(kinds)}


def test_a_step_is_one_all_reduce_and_nothing_goes_to_the_host():
    experiment = tiny_experiment(**CHANGES)
    model, optimizer = Transformer(experiment.model, VOCAB_SIZE), make_optimizer(experiment)
    state = parallel.replicate(initial_state(model, optimizer, seed=3))
    batch = parallel.shard(batch_plan(experiment, TRAIN).batch(TRAIN, 0), tokens_per_device=8)
    step = make_train_step(model, optimizer, experiment.training)
    found = operations(parallel.on_all_devices(step, donate_state=True, num_shared=1), state, batch, 3)
    assert found["dot"] > 10
    assert between_devices_or_with_the_host(found) == {"all-reduce": 1}


def test_a_second_all_reduce_and_a_call_of_the_host_would_be_seen():
    def step(state, shard):
        total = parallel.all_reduce(shard)
        jax.debug.callback(lambda _: None, total)
        return parallel.all_reduce(jnp.sin(state * total + parallel.device_index()))

    found = operations(parallel.on_all_devices(step, donate_state=False), 1.0, np.ones(8, np.float32))
    assert between_devices_or_with_the_host(found) == {"all-reduce": 2, "custom-call": 1}


def test_a_checkpoint_does_not_say_by_what_devices_it_was_made(tmp_path):
    state = state_at(3)
    Checkpoints(tmp_path / "eight", keep=1).save(state)
    Checkpoints(tmp_path / "one", keep=1).save(jax.device_put(state, jax.devices()[3]))
    for part in ("params", "opt_state"):
        eight, one = (tmp_path / name / "3" / part for name in ("eight", "one"))
        assert (eight / "_METADATA").read_text() == (one / "_METADATA").read_text()
        assert not (eight / "_sharding").exists()


def test_a_checkpoint_that_says_it_is_read_without_these_devices(tmp_path, monkeypatch):
    """They once said so."""
    monkeypatch.setattr(jax, "device_get", lambda tree: tree)
    checkpoints = Checkpoints(tmp_path, keep=1)
    checkpoints.save(state_at(3))
    monkeypatch.undo()
    for part in ("params", "opt_state"):
        sharding = tmp_path / "3" / part / "_sharding"
        assert sharding.read_bytes().count(rb"\"id\": 7") > 1
        sharding.write_bytes(sharding.read_bytes().replace(rb"\"id\": 7", rb"\"id\": 2048"))
    keep_checksums(tmp_path / "3")
    assert_equal(checkpoints.restore_newest(state_at(0), silent), state_at(3))
    like = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), state_at(0).params)
    assert_equal(checkpoints.average(1, like)[0], jax.tree.map(np.asarray, state_at(3).params))
