"""A disc that is full: one line, what was saved before is whole, and there is room for more once room is made."""

import errno
import os
import re
import resource
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from small_disc import fill, small_disc
from train_states import assert_equal, silent, state_at

from transformer_jax.errors import UserError
from transformer_jax.training.checkpoint import Checkpoints
from transformer_jax.training.disc import FullDiscError, require_room, told_if_full
from transformer_jax.training.metrics_log import MetricsLog, read_metrics

TESTS = Path(__file__).resolve().parents[1]
MEBI = 2**20


@pytest.fixture
def disc(tmp_path):
    with small_disc(tmp_path / "disc", 2048) as folder:
        yield folder


@contextmanager
def files_of_at_most(size: int):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_checkpoint_without_room_is_not_begun(disc):
    """Its arrays take 3 x 90 kB; what stands beside them is taken to be 1 MiB."""
    checkpoints = Checkpoints(disc / "checkpoints", keep=3)
    checkpoints.save(state_at(1))
    filling = fill(disc, leave=MEBI)
    large = state_at(2, rows=3200)
    with pytest.raises(FullDiscError) as raised:
        checkpoints.save(large)
    size = (3 * (3200 * 7 + 1) + 1) * 4 / MEBI + 1
    assert str(raised.value) == (
        f"{disc}/checkpoints: the disc is full: 1.0 MiB are free, {size:.1f} MiB are needed; "
        "make room, and the same command goes on from here"
    )
    assert [path.name for path in (disc / "checkpoints").iterdir()] == ["1"]
    assert_equal(checkpoints.restore_newest(state_at(0), silent), state_at(1))
    filling.unlink()
    checkpoints.save(large)
    assert_equal(checkpoints.restore_newest(state_at(0, rows=3200), silent), large)


# Where a write itself fails, at its beginning or its end. In a process of its own: Orbax leaves failed threads behind.
MEANWHILE = """
import sys
from pathlib import Path
from small_disc import fill
from train_states import assert_equal, silent, state_at
from transformer_jax.training import checkpoint, disc

checkpoint.require_room = lambda *_: None
folder = Path(sys.argv[1])
checkpoint.Checkpoints(folder, keep=3).save(state_at(1))
for leave in (0, 12_288, 45_056):
    filling = fill(folder, leave=leave)
    try:
        checkpoint.Checkpoints(folder, keep=3).save(state_at(2))
    except disc.FullDiscError as error:
        print(error)
    filling.unlink()
    again = checkpoint.Checkpoints(folder, keep=3)
    assert_equal(again.restore_newest(state_at(0), silent), state_at(1))
again.save(state_at(2))
assert_equal(again.restore_newest(state_at(0), silent), state_at(2))
"""


def test_room_that_others_take_meanwhile(disc):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (TESTS, TESTS.parent)))}
    command = [sys.executable, "-c", MEANWHILE, str(disc)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    line = rf"{disc}: the disc is full: 0\.0 MiB are free; make room, and the same command goes on from here\n"
    assert re.fullmatch(f"({line}){{3}}", ended.stdout)


def write_records(workdir: Path, records: list[dict]) -> None:
    log = MetricsLog(workdir, resumed_at=len(read_metrics(workdir / "metrics.jsonl")))
    try:
        for record in records:
            log.append(record)
    finally:
        log.close()


RECORDS = [{"kind": "train", "step": step, "note": "x" * 1000, "loss": 1 / step} for step in range(1, 30)]


def require_records_can_go_on(workdir: Path) -> None:
    """Those that are there are whole, and the others come after them."""
    kept = read_metrics(workdir / "metrics.jsonl")
    assert kept == RECORDS[: len(kept)]
    assert 0 < len(kept) < len(RECORDS)
    write_records(workdir, RECORDS[len(kept) :])
    assert read_metrics(workdir / "metrics.jsonl") == RECORDS


def test_a_log_without_room(disc):
    filling = fill(disc, leave=20_480)
    with pytest.raises(FullDiscError, match=rf"^{disc}: the disc is full"), told_if_full(disc):
        write_records(disc, RECORDS)
    filling.unlink()
    require_records_can_go_on(disc)


def test_a_limit_on_the_size_of_files_is_told_alike(tmp_path):
    with pytest.raises(FullDiscError), told_if_full(tmp_path), files_of_at_most(9_000):
        write_records(tmp_path, RECORDS)
    require_records_can_go_on(tmp_path)


def test_a_quota_is_told_alike_and_other_errors_are_left(tmp_path):
    absent = tmp_path / "not" / "yet"
    with pytest.raises(FullDiscError, match=rf"^{absent}: "), told_if_full(absent):
        raise OSError(errno.EDQUOT, "Disk quota exceeded")
    with pytest.raises(ValueError, match=r"^another$"), told_if_full(tmp_path):
        raise ValueError("another")
    with pytest.raises(PermissionError), told_if_full(tmp_path):
        raise OSError(errno.EACCES, "no")
    with pytest.raises(UserError, match=r"^No space left on device, said already$"), told_if_full(tmp_path):
        raise UserError("No space left on device, said already")


def test_room_by_hand(disc):
    fill(disc, leave=MEBI + 8_192)
    require_room(disc / "not" / "yet", {"a": np.zeros(1024, np.float32), "b": [np.zeros(4096, np.uint8)]})
    with pytest.raises(FullDiscError):
        require_room(disc, {"a": np.zeros(8_193, np.uint8)})
