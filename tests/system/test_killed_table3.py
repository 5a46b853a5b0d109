"""Table 3's command, killed again and again, ends with the table that it would have made at once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_commands import PROJECT_ROOT
from tiny_rows import quality, write_scale

ROWS = "base,D_P_drop_0.0"
# After so many lines on standard error: in the data, in training, beside a checkpoint, while scoring, in the next run.
KILLED_AFTER_LINES = (1, 3, 5, 6, 8, 10, 12)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """`start(workdir)` begins the command on one device."""
    scale = write_scale(tmp_path_factory.mktemp("corpus"))
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"} | {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("compiled")),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    command = [sys.executable, "-m", "experiments.table3", f"--rows={ROWS}", f"--gin_file={scale}"]

    def begin(workdir: Path) -> subprocess.Popen:
        return subprocess.Popen(
            [*command, f"--workdir={workdir}"],
            cwd=PROJECT_ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    return begin


@pytest.mark.slow
def test_the_table_does_not_depend_on_how_often_it_was_killed(start, tmp_path):
    with start(tmp_path / "at_once") as process:
        assert process.wait() == 0, process.stderr.read()
    killed = 0
    for lines in KILLED_AFTER_LINES:
        with start(tmp_path / "killed") as process:
            for _ in range(lines):
                process.stderr.readline()
            process.kill()
            killed += process.wait() != 0
    assert killed >= 5, "the others had ended before"
    with start(tmp_path / "killed") as process:
        assert process.wait() == 0, process.stderr.read()
    assert quality(tmp_path / "killed" / "table3.csv") == quality(tmp_path / "at_once" / "table3.csv")
    for row in ROWS.split(","):
        one, other = (tmp_path / name / row / "seed_1" for name in ("killed", "at_once"))
        assert (one / "translations.dev.jsonl").read_text() == (other / "translations.dev.jsonl").read_text()
