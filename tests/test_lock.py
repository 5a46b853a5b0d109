"""A lock is held by one process at a time, and by none that has ended."""

import subprocess
import sys
from pathlib import Path

import pytest

from transformer_jax.lock import taken

HOLD = """
import sys
from pathlib import Path
from transformer_jax.lock import taken
with taken(Path(sys.argv[1])) as owner:
    print(owner, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def lock(tmp_path) -> Path:
    return tmp_path / ".lock"


@pytest.fixture
def holder(lock):
    """Another process that has the lock."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(lock)],
        cwd=Path(__file__).resolve().parents[1],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout.readline() == "None\n", "it was free"
        yield process
        process.kill()


def test_one_at_a_time_in_this_process(lock):
    with taken(lock) as owner:
        assert owner is None
        with taken(lock) as second:
            assert second.startswith("process ")
    with taken(lock) as owner:
        assert owner is None, "it was let go"


def test_who_has_it_is_named(lock, holder):
    with taken(lock) as owner:
        assert owner.startswith(f"process {holder.pid} on ")


def test_a_process_that_was_killed_has_nothing(lock, holder):
    holder.kill()
    holder.wait()
    with taken(lock) as owner:
        assert owner is None


def test_an_error_lets_go(lock):
    with pytest.raises(KeyError), taken(lock):
        raise KeyError
    with taken(lock) as owner:
        assert owner is None
