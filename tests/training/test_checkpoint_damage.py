"""Damage to a checkpoint is found, said, and got over; a kill while saving does none."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from train_states import assert_equal, files_of, save_three, silent, state_at

from transformer_jax.training import checkpoint
from transformer_jax.training.checkpoint import CheckpointError, Checkpoints


@pytest.fixture
def saved(tmp_path):
    return save_three(tmp_path / "checkpoints")


def array_file(checkpoint: Path, part: str) -> Path:
    return max((checkpoint / part / "d").iterdir(), key=lambda path: path.stat().st_size)


def flip_middle_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


def replace(path: Path, old: bytes, new: bytes) -> None:
    path.write_bytes(path.read_bytes().replace(old, new))


def remove_files(checkpoint: Path) -> None:
    for path in files_of(checkpoint):
        path.unlink()


DAMAGES: dict[str, Callable[[Path], None]] = {
    "bit of the parameters": lambda checkpoint: flip_middle_bit(array_file(checkpoint, "params")),
    "bit of the optimizer's state": lambda checkpoint: flip_middle_bit(array_file(checkpoint, "opt_state")),
    "end of the parameters": lambda checkpoint: truncate(array_file(checkpoint, "params")),
    "all of the parameters": lambda checkpoint: array_file(checkpoint, "params").write_bytes(b""),
    "parameters' file": lambda checkpoint: array_file(checkpoint, "params").unlink(),
    "manifest": lambda checkpoint: (checkpoint / "manifest" / "metadata").unlink(),
    "end of the manifest": lambda checkpoint: truncate(checkpoint / "manifest" / "metadata"),
    "name of a part in the manifest": lambda checkpoint: replace(
        checkpoint / "manifest" / "metadata", b"params", b"qarams"
    ),
    "every file": remove_files,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damage_is_said_and_the_one_before_is_used(saved, damage):
    damage(saved / "13")
    told = []
    checkpoints = Checkpoints(saved, keep=3)
    assert_equal(checkpoints.restore_newest(state_at(0), told.append), state_at(12))
    (line,) = told
    assert line.startswith(f"checkpoint {saved / '13'} is damaged: ")
    assert len(line.splitlines()) == 1
    assert checkpoints.steps == [11, 12]
    checkpoints.save(state_at(13))
    assert_equal(Checkpoints(saved, keep=3).restore_newest(state_at(0), silent), state_at(13))


@pytest.mark.parametrize("damage", [flip_middle_bit, truncate, Path.unlink])
def test_no_file_is_damaged_unnoticed(saved, damage):
    """Whichever of its files it is, the sharding's and the manifest's among them."""
    like = state_at(0)
    checkpoints = Checkpoints(saved, keep=3)
    for path in files_of(saved / "13"):
        original = path.read_bytes()
        damage(path)
        with pytest.raises(CheckpointError, match="checkpoints/13 is damaged: "):
            checkpoints._restore(13, {"params": like.params, "opt_state": like.opt_state})
        path.write_bytes(original)
    restored = checkpoints._restore(13, {"params": like.params, "opt_state": like.opt_state})
    assert_equal(restored["params"], state_at(13).params)


def test_two_damaged_ones_are_said_and_removed(saved):
    for step in ("12", "13"):
        DAMAGES["bit of the parameters"](saved / step)
    told = []
    checkpoints = Checkpoints(saved, keep=3)
    assert_equal(checkpoints.restore_newest(state_at(0), told.append), state_at(11))
    assert [line.split(" is ")[0] for line in told] == [f"checkpoint {saved / step}" for step in ("13", "12")]
    assert checkpoints.steps == [11]


def test_if_all_are_damaged_nothing_is_removed(saved):
    for step in ("11", "12", "13"):
        DAMAGES["end of the parameters"](saved / step)
    told = []
    checkpoints = Checkpoints(saved, keep=3)
    with pytest.raises(CheckpointError, match="no checkpoint is whole; the oldest is that of step 11"):
        checkpoints.restore_newest(state_at(0), told.append)
    assert len(told) == 3
    assert checkpoints.steps == [11, 12, 13]


@pytest.mark.parametrize("nth", [1, 2, 4])
def test_a_kill_while_saving_leaves_no_half_checkpoint(saved, monkeypatch, nth):
    """Everything is written under another name; the last renaming makes it a checkpoint."""

    class Killed(BaseException):
        pass

    rename, calls = os.rename, []

    def killed(*arguments, **settings):
        calls.append(arguments)
        if len(calls) == nth:
            raise Killed
        return rename(*arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", killed)
        with pytest.raises(Killed):
            Checkpoints(saved, keep=3).save(state_at(14))
    assert [path.name for path in saved.iterdir() if path.name not in ("11", "12", "13")] != []
    checkpoints = Checkpoints(saved, keep=3)
    assert checkpoints.steps == [11, 12, 13]
    assert_equal(checkpoints.restore_newest(state_at(0), silent), state_at(13))
    checkpoints.save(state_at(14))
    assert sorted(path.name for path in saved.iterdir()) == ["12", "13", "14"]
    assert_equal(Checkpoints(saved, keep=3).restore_newest(state_at(0), silent), state_at(14))


class _KilledWriter(BaseException):
    pass


def _killed(_folder: Path) -> None:
    raise _KilledWriter


@pytest.mark.parametrize("others", [True, False])
def test_a_kill_before_the_checksums_are_written_loses_nothing(tmp_path, monkeypatch, others):
    """Orbax has made it a checkpoint by then. It may be the first of a run."""
    folder = save_three(tmp_path / "checkpoints") if others else tmp_path / "checkpoints"
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "keep_checksums", _killed)
        with pytest.raises(_KilledWriter):
            Checkpoints(folder, keep=3).save(state_at(14))
    told = []
    checkpoints = Checkpoints(folder, keep=3)
    assert_equal(checkpoints.restore_newest(state_at(0), told.append), state_at(14))
    assert told == []
    assert checkpoints.average(1, state_at(0).params)[1] == [14], "it is as whole as any"


def test_a_kill_before_the_checksums_hides_no_damage(saved, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "keep_checksums", _killed)
        with pytest.raises(_KilledWriter):
            Checkpoints(saved, keep=3).save(state_at(14))
    DAMAGES["name of a part in the manifest"](saved / "14")
    told = []
    checkpoints = Checkpoints(saved, keep=3)
    assert_equal(checkpoints.restore_newest(state_at(0), told.append), state_at(13))
    assert [line.split(":")[0] for line in told] == [f"checkpoint {saved / '14'} is damaged"]


def test_an_average_of_a_damaged_checkpoint_is_refused(saved):
    DAMAGES["bit of the parameters"](saved / "12")
    checkpoints = Checkpoints(saved, keep=3)
    with pytest.raises(CheckpointError, match=r"checkpoints/12 is damaged"):
        checkpoints.average(2, state_at(0).params)
    assert checkpoints.average(1, state_at(0).params)[1] == [13]
