"""Table 3's command on a Ray cluster, and as the tasks of a Slurm array, makes what one process makes by itself."""

import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tiny_commands import PROJECT_ROOT, snapshot
from tiny_rows import quality, write_scale

pytestmark = pytest.mark.slow
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="needs Ray: pip install -r requirements-cluster.txt"
)
RUNS = [f"{row}/seed_{seed}" for seed in (1, 2) for row in ("base", "D_eps_ls_0.2")]
LISTED = ["--rows=base,D_eps_ls_0.2", "--seeds=2"]
# Long enough to be stopped in its midst, between two checkpoints.
LENGTHS = {"num_steps": 400, "checkpoint_every_steps": 100, "evaluate_every_steps": 200, "log_every_steps": 50}
LONGER = [f"--gin_param=Training.{name} = {value}" for name, value in LENGTHS.items()]
OF_THE_PLACE = {"seconds", "command", "machine", "devices", "date"}
# Two nodes with one core each; they go when this process is told to end.
CLUSTER = """
import sys
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
cluster.add_node(num_cpus=1)
print(cluster.address, flush=True)
sys.stdin.read()
cluster.shutdown()
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory) -> Iterator[dict[str, str]]:
    """One device, and one place for what is compiled; Ray's sockets need a short path."""
    others = {name: value for name, value in os.environ.items() if name not in ("XLA_FLAGS", "RAY_ADDRESS")}
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as ray:
        yield others | {
            "JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("compiled")),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
            "RAY_TMPDIR": ray,
        }


@pytest.fixture(scope="module")
def start(environment, tmp_path_factory) -> Callable[..., subprocess.Popen]:
    """`start(workdir, flags)` begins the command."""
    scale = write_scale(tmp_path_factory.mktemp("corpus"))
    command = [sys.executable, "-m", "experiments.table3", *LISTED, f"--gin_file={scale}", *LONGER]

    def begin(workdir: Path, *flags: str) -> subprocess.Popen:
        return subprocess.Popen(
            [*command, f"--workdir={workdir}", *flags],
            cwd=PROJECT_ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    return begin


@pytest.fixture(scope="module")
def at_once(start, tmp_path_factory) -> Path:
    """What one process makes by itself."""
    root = tmp_path_factory.mktemp("at_once")
    finish(start(root))
    return root


@pytest.fixture
def cluster(environment) -> Iterator[str]:
    """The address of two nodes."""
    with subprocess.Popen(
        [sys.executable, "-c", CLUSTER], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        yield process.stdout.readline().strip()
        process.stdin.close()


def finish(process: subprocess.Popen) -> str:
    """What it has said, when it has ended well."""
    with process:
        said = process.stderr.read()
    assert process.returncode == 0, said
    return said


def in_training(root: Path, process: subprocess.Popen) -> tuple[Path, int]:
    """Waits for a run that has saved and not yet ended; its folder, and the process that has it."""
    while process.poll() is None:
        for name in RUNS:
            steps = [int(path.parent.name) for path in (root / name / "checkpoints").glob("*/checksums.json")]
            if steps and max(steps) < 300 and not (root / name / "results.json").exists():
                return root / name, int(re.search(r"\d+", (root / name / ".run.lock").read_text())[0])
        time.sleep(0.02)
    raise AssertionError(process.stderr.read())


def launches(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "launches.jsonl").read_text().splitlines()]


def results(folder: Path) -> dict:
    """Without what a clock said, and where and how it was run."""

    def kept(value):
        if isinstance(value, dict):
            return {name: kept(inner) for name, inner in value.items() if name not in OF_THE_PLACE}
        return value

    return kept(json.loads((folder / "results.json").read_text()))


def require_equal(root: Path, other: Path, names: list[str]) -> None:
    for name in names:
        for file in ("translations.dev.txt", "translations.dev.jsonl"):
            assert (root / name / file).read_bytes() == (other / name / file).read_bytes()
        assert results(root / name) == results(other / name)


@needs_ray
def test_a_killed_worker_on_a_cluster_changes_nothing(start, at_once, cluster, tmp_path):
    process = start(tmp_path, "--launcher=ray", f"--ray_address={cluster}")
    folder, pid = in_training(tmp_path, process)
    assert pid != process.pid
    os.kill(pid, signal.SIGKILL)
    said = finish(process)
    assert "4 runs are left; the cluster has room for 2 at once" in said
    assert re.search(r"; 0 left$", said, re.MULTILINE)
    require_equal(tmp_path, at_once, RUNS)
    assert quality(tmp_path / "table3.csv") == quality(at_once / "table3.csv")
    begun = {name: launches(tmp_path / name) for name in RUNS}
    assert {name: len(listed) for name, listed in begun.items()} == {
        name: 2 if tmp_path / name == folder else 1 for name in RUNS
    }, "none was begun anew but the killed one"
    assert all(f"--ray_address={cluster}" in launch["command"] for listed in begun.values() for launch in listed)


@needs_ray
def test_a_stop_is_passed_on_to_a_cluster_of_our_own(start, at_once, tmp_path):
    process = start(tmp_path, "--launcher=ray", "--ray_address=local", "--max_runs=1")
    folder, _ = in_training(tmp_path, process)
    process.send_signal(signal.SIGINT)
    said = finish(process)
    assert "stopping; the same command goes on with what is left" in said
    assert folder == tmp_path / RUNS[0]
    (saved,) = [int(path.parent.name) for path in (folder / "interrupted").glob("*/checksums.json")]
    assert saved % 100 != 0
    assert not (folder / "results.json").exists()
    assert not (tmp_path / RUNS[1]).exists()
    finish(start(tmp_path, "--max_runs=1"))
    assert len(launches(folder)) == 2
    require_equal(tmp_path, at_once, RUNS[:1])


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_tasks_of_a_slurm_array_work_the_list_between_them(start, at_once, environment, tmp_path):
    finish(start(tmp_path, "--launcher=slurm", "--max_runs=3"))
    script = ["bash", tmp_path / "slurm.sh"]
    for task in (1, 2, 3):
        ended = subprocess.run(script, env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        assert [name for name in RUNS if (tmp_path / name).exists()] == RUNS[:task]
    require_equal(tmp_path, at_once, RUNS[:3])
    finish(start(tmp_path))
    before = snapshot(tmp_path / "base")
    assert subprocess.run(script, env=environment, cwd=tmp_path, capture_output=True).returncode == 0
    assert snapshot(tmp_path / "base") == before, "a task that finds nothing left ends"
