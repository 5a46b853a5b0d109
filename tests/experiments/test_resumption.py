"""Two runs are the same, or what differs is named; and the command says so by its code."""

import json
import shutil
from pathlib import Path

import pytest
from tiny_commands import require_one_line, run_command
from train_states import state_at

from experiments import verify_resume
from experiments.gin_bindings import load_experiment
from experiments.resumption import different, kill_after, settings
from transformer_jax.training.checkpoint import CheckpointError, Checkpoints

BASE = Path(__file__).resolve().parents[2] / "gin_configs" / "base.gin"
BATCHES = {1: 11, 2: 22, 3: 33}


def ended(workdir: Path, *, batches=BATCHES, state=None) -> Path:
    """A run that has come to its end, so far as is compared."""
    workdir.mkdir(parents=True)
    records = [{"kind": "train", "step": step, "batches_crc32": crc, "seconds": 1} for step, crc in batches.items()]
    (workdir / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    Checkpoints(workdir / "checkpoints", keep=1).save(state_at(3) if state is None else state)
    return workdir


@pytest.fixture
def undisturbed(tmp_path):
    return ended(tmp_path / "undisturbed")


def test_equal_runs(undisturbed, tmp_path):
    assert different(undisturbed, ended(tmp_path / "killed")) == []


@pytest.mark.parametrize(
    ("batches", "lines"),
    [
        ({**BATCHES, 2: 23}, ["the batch of step 2 differs"]),
        ({1: 11, 2: 22}, ["the batch of step 3 differs"]),
        ({**BATCHES, 4: 44}, ["the batch of step 4 differs"]),
    ],
)
def test_a_batch_that_differs_is_named(undisturbed, tmp_path, batches, lines):
    killed = ended(tmp_path / "killed", batches=batches)
    assert different(undisturbed, killed) == lines == different(killed, undisturbed)


def test_an_array_that_differs_is_named(undisturbed, tmp_path):
    state = state_at(3)
    layer = {name: leaf.at[0].add(1e-6) if name == "bias" else leaf for name, leaf in state.params["layer"].items()}
    params = ended(tmp_path / "params", state=state._replace(params={"layer": layer}))
    assert different(undisturbed, params) == ["params['layer']['bias'] differs"]
    adam, *rest = state.opt_state
    counted = ended(tmp_path / "counted", state=state._replace(opt_state=(adam._replace(count=adam.count + 1), *rest)))
    assert different(undisturbed, counted) == ["opt_state[0].count differs"]


def test_another_end_is_named(undisturbed, tmp_path):
    other = ended(tmp_path / "other", state=state_at(2))
    assert different(undisturbed, other) == ["one ended at step 3, the other at step 2"]


def test_damage_is_no_difference(undisturbed, tmp_path):
    killed = shutil.copytree(undisturbed, tmp_path / "killed")
    (killed / "checkpoints" / "3" / "params" / "manifest.ocdbt").write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"checkpoints/3 is damaged: params/manifest\.ocdbt is not what"):
        different(undisturbed, killed)


@pytest.mark.parametrize(("steps", "kills"), [(20, 2), (2, 1), (5, 4), (1000, 7)])
def test_kills_come_before_the_end_and_saves_between(steps, kills):
    moments = kill_after(steps, kills, seed=1)
    assert len(set(moments)) == kills
    assert 1 <= moments[0] <= moments[-1] < steps
    assert kill_after(steps, kills, seed=1) == moments
    training = load_experiment([BASE], settings(steps, kills)).training
    assert (training.num_steps, training.log_every_steps) == (steps, 1)
    assert 1 <= training.checkpoint_every_steps <= max(steps // kills, 1)


@pytest.mark.parametrize(("killed_state", "code", "verdict"), [(3, 0, "are the same, bit for bit"), (2, 1, "differs")])
def test_the_verdict(tmp_path, monkeypatch, killed_state, code, verdict):
    """Of runs that are made without training: as many lives as there are kills, and one more."""
    lives = []

    def live(workdir, _experiment, last):
        lives.append((workdir.name, last))
        if last is None:
            state = state_at(killed_state) if workdir.name == "killed" else state_at(3)
            ended(workdir, state=state._replace(step=state_at(3).step))

    monkeypatch.setattr(verify_resume, "_live", live)
    flags = [f"--gin_file={BASE}", f"--workdir={tmp_path / 'v'}", "--steps=9", "--kills=2"]
    told = run_command("verify_resume", *flags)
    assert told.code == code
    assert told.out.decode().splitlines()[-1].endswith(verdict)
    assert [(name, last is None) for name, last in lives] == [
        ("undisturbed", True), ("killed", False), ("killed", False), ("killed", True),
    ]  # fmt: skip
    again = run_command("verify_resume", *flags)
    require_one_line(again, rf"{tmp_path}/v/undisturbed is there already: choose another --workdir")


def test_as_many_kills_as_steps_are_refused(tmp_path):
    flags = [f"--gin_file={BASE}", f"--workdir={tmp_path}", "--steps=2", "--kills=2"]
    told = run_command("verify_resume", *flags)
    require_one_line(told, r"--kills=2: must be from 1 to --steps - 1 \(--help lists the flags\)")
