"""Launchers: who works a list, the script for Slurm as a shell reads it, and what is said where Ray is not."""

import argparse
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_commands import require_one_line, run_command, snapshot
from tiny_rows import write_scale
from toy_runs import Toys

from experiments import table3
from experiments.ablation.rows import row_runs
from experiments.launchers import launch, ray_cluster, slurm
from experiments.launchers.work import Need
from experiments.run_list import FAILURE
from experiments.workdir import claim
from transformer_jax.training.loop import Observer

LISTED = ["--rows=base,big,C_N_2"]
# In python's place: says where it is, who it is, and what it was given; then waits to be told to end.
STAND_IN = """#!/bin/bash
trap 'echo saved; exit 7' TERM
printf '%s\\n' "$PWD" "$$" "$@" end
while true; do sleep 0.01; done
"""


def flags_of(*args: str) -> argparse.Namespace:
    flags = argparse.ArgumentParser()
    flags.add_argument("--workdir", type=Path)
    launch.add_flags(flags)
    return flags.parse_args(args)


@pytest.fixture(scope="module")
def scale(tmp_path_factory) -> Path:
    """In a folder whose name a shell would take to pieces."""
    home = tmp_path_factory.mktemp("corpora") / "it's $HOME; 100 %"
    home.mkdir()
    return write_scale(home)


def write_script(scale: Path, workdir: Path, *flags: str) -> tuple[list[str], list[str]]:
    """#SBATCH's options of the script for three runs, and the words of its last line, as a shell has them."""
    args = [*LISTED, "--gin_file", str(scale), f"--workdir={workdir}", "--launcher=slurm", *flags]
    ended = run_command("table3", *args)
    assert ended.code == 0, ended.err
    path = workdir / "slurm.sh"
    assert ended.err.splitlines()[-1] == f"sbatch {shlex.quote(str(path))}"
    assert subprocess.run(["bash", "-n", path], capture_output=True, check=True).stderr == b""
    lines = path.read_text().splitlines()
    assert lines[0] == "#!/bin/bash"
    return [line.removeprefix("#SBATCH ") for line in lines if line.startswith("#SBATCH ")], shlex.split(lines[-1])


@pytest.mark.parametrize(("flags", "at_most"), [([], None), (["--max_runs=3"], 3), (["--launcher=local"], None)])
def test_this_process_works_the_list_itself(flags, at_most):
    toys, observer = Toys(5), Observer(print, print, lambda: False)
    launch.launch(flags_of(*flags), toys, observer)
    assert toys.calls == [(at_most, observer)]


@pytest.mark.parametrize(
    ("flag", "pattern"),
    [
        ("--launcher=pbs", r"argument --launcher: invalid choice: 'pbs' .*"),
        ("--max_runs=0", r"argument --max_runs: 0 is no number from 1 up .*"),
        ("--cpus_per_run=0.5", r"argument --cpus_per_run: 0\.5 is no number from 1 up .*"),
        ("--gpus_per_run=-1", r"argument --gpus_per_run: -1 is no number from 0 up .*"),
        ("--slurm_option=partition=gpu", r"argument --slurm_option: 'partition=gpu' is no option of sbatch .*"),
        ("--slurm_option=--time=1\nrm", r"argument --slurm_option: '--time=1\\nrm' is no option of sbatch .*"),
    ],
)
def test_bad_flags_are_one_line(flag, pattern):
    require_one_line(run_command("table3", flag), pattern)


def test_the_array_has_a_task_for_each_run_that_is_left(scale, tmp_path):
    options, _ = write_script(scale, tmp_path)
    assert "--array=1-3" in options
    assert {"--requeue", "--open-mode=append", "--cpus-per-task=1", "--ntasks=1"} <= set(options)
    assert f"--output={tmp_path}/slurm/%A_%a.log" in options
    assert (tmp_path / "slurm").is_dir(), "Slurm would make none, and the job would fail"
    assert not any("gpu" in option for option in options)
    (run,) = row_runs(["big"], 1, [str(scale)], [])
    claim(tmp_path / run.name, run.experiment, accept_changes=False)
    (tmp_path / run.name / FAILURE).write_text('{"error": "made up"}')
    run_command("table3", *LISTED, f"--gin_file={scale}", f"--workdir={tmp_path}", "--launcher=slurm")
    assert "#SBATCH --array=1-2\n" in (tmp_path / "slurm.sh").read_text()


def test_what_is_asked_of_a_node_and_of_slurm_is_in_the_script(scale, tmp_path):
    more = ["--slurm_option=--partition=gpu", "--cpus_per_run=7", "--gpus_per_run=2", "--max_runs=2",
            "--slurm_option=--array=1-2%1"]  # fmt: skip
    options, words = write_script(scale, tmp_path, *more)
    assert {"--cpus-per-task=7", "--gres=gpu:2", "--array=1-2"} <= set(options)
    assert options[-2:] == ["--partition=gpu", "--array=1-2%1"], "the last of two equal ones counts"
    assert not any("slurm" in word or "per_run" in word for word in words)


def test_a_task_is_the_same_command_for_one_run_here(scale, tmp_path, monkeypatch):
    given = ["--gin_param", 'Data.directory = "a b"', "--seeds=2", "--gin_param=Training.log_every_steps = 7"]
    places = f"Data.directory = {str(scale.parent)!r}"
    _, words = write_script(scale, tmp_path, *given, f"--gin_param={places}", "--retry_failed")
    assert words[:4] == ["exec", sys.executable, "-m", "experiments.table3"]
    seen = []
    monkeypatch.setattr(table3.launch, "launch", lambda args, *_: seen.append(vars(args)))
    for args in (words[4:], [*given, f"--gin_param={places}", *LISTED, f"--gin_file={scale}",
                               f"--workdir={tmp_path}", "--max_runs=1"]):  # fmt: skip
        assert run_command("table3", *args).code == 0
    task, by_hand = seen
    assert task == by_hand
    assert task["launcher"] == "local"
    assert task["retry_failed"] is False, "a task would forget what another's run has failed of"


def test_the_shell_makes_way_for_the_command(tmp_path, monkeypatch):
    """The same words arrive, in the same directory, in the process that Slurm sends its signals to."""
    home = tmp_path / "it's $HOME; 100 %"
    home.mkdir()
    monkeypatch.chdir(home)
    words = ["-m", "experiments.table3", '--gin_param=Data.language = "d\'e"', "--rows=$(rm -r x)", "a\\b", "*", ""]
    (home / "python").write_text(STAND_IN)
    (home / "python").chmod(0o755)
    slurm.write(Toys(2), Path("list"), Need(1, 0, None), [str(home / "python"), *words], [], print)
    script = home / "list" / "slurm.sh"
    with subprocess.Popen(["bash", script], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        heard = [process.stdout.readline().rstrip("\n") for _ in range(len(words) + 3)]
        process.send_signal(signal.SIGTERM)
        rest = process.stdout.read()
    assert heard == [str(home), str(process.pid), *words, "end"]
    assert (rest, process.returncode) == ("saved\n", 7)
    (output,) = re.findall("^#SBATCH --output=(.*)$", script.read_text(), re.MULTILINE)
    (path,) = shlex.split(output)
    assert path == f"{home}/list/slurm/%A_%a.log".replace("100 %", "100 %%")


def test_a_directory_that_is_gone_runs_nothing(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    slurm.write(Toys(1), tmp_path / "list", Need(1, 0, None), ["echo", "-m", "begun"], [], print)
    gone.rmdir()
    ended = subprocess.run(["bash", tmp_path / "list" / "slurm.sh"], cwd=tmp_path, capture_output=True)
    assert ended.returncode != 0
    assert ended.stdout == b""


@pytest.mark.parametrize("launcher", ["ray", "slurm"])
def test_where_nothing_is_left_nothing_is_made(launcher, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    launch.launch(
        flags_of(f"--launcher={launcher}", f"--workdir={tmp_path / 'new'}"),
        Toys(0),
        Observer(print, print, lambda: False),
    )
    assert not (tmp_path / "new").exists()


def test_the_launchers_files_are_no_strangers_to_the_list(scale, tmp_path):
    write_script(scale, tmp_path)
    ray_cluster._mark(tmp_path)
    before = snapshot(tmp_path)
    write_script(scale, tmp_path)
    assert snapshot(tmp_path) == before


def test_without_ray_one_line_says_how_to_get_it(scale, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    ended = run_command("table3", *LISTED, f"--gin_file={scale}", f"--workdir={tmp_path / 'new'}", "--launcher=ray")
    require_one_line(ended, r"--launcher=ray needs: pip install -r requirements-cluster\.txt")
    assert not (tmp_path / "new").exists()
