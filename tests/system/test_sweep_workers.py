"""Real processes on one study: no trial is run twice, none is lost, whatever is killed."""

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from optuna.trial import TrialState
from postgresql import server
from toy_sweep import trials

TESTS = Path(__file__).resolve().parents[1]
COUNT = 10


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def storage(request) -> Iterator[str]:
    """ "-" is the workdir's own."""
    if request.param == "sqlite":
        yield "-"
        return
    with server() as url:
        yield url


def start(workdir: Path, storage: str, seconds: float) -> subprocess.Popen:
    log = workdir.parent / "log.txt"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent)])}
    command = [sys.executable, TESTS / "sweep_worker.py", workdir, str(COUNT), storage, log, str(seconds)]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)


def begun(workdir: Path) -> list[list[str]]:
    """(run, process) each time that a run was begun or gone on with."""
    log = workdir.parent / "log.txt"
    return [line.split() for line in log.read_text().splitlines()] if log.exists() else []


def require_all_finished(workdir: Path, storage: str) -> None:
    study = trials(workdir, f"Sweep.trials = {COUNT}", storage=None if storage == "-" else storage).study()
    assert [trial.number for trial in study.trials] == list(range(COUNT))
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}
    for trial in study.trials:
        assert trial.value == pytest.approx(29.9 - 100 * trial.params["Model.dropout_rate"])
    assert len({trial.params["Model.dropout_rate"] for trial in study.trials}) == COUNT


def require_well(*workers: subprocess.Popen) -> None:
    for worker in workers:
        _, err = worker.communicate()
        assert worker.returncode == 0, err


@pytest.mark.slow
def test_two_workers_share_the_trials_and_run_none_twice(tmp_path, storage):
    workdir = tmp_path / "sweep"
    require_well(*[start(workdir, storage, seconds=0.1) for _ in range(2)])
    runs = [run for run, _ in begun(workdir)]
    assert sorted(runs) == [f"trial_{number:04d}/seed_1" for number in range(COUNT)]
    shares = Counter(process for _, process in begun(workdir))
    assert len(shares) == 2, "both had some"
    require_all_finished(workdir, storage)


@pytest.mark.slow
def test_the_trial_of_a_killed_worker_is_gone_on_with_by_another(tmp_path, storage):
    workdir = tmp_path / "sweep"
    workers = [start(workdir, storage, seconds=0.1) for _ in range(2)]
    victim = workers[0]
    while str(victim.pid) not in [process for _, process in begun(workdir)]:
        assert victim.poll() is None, victim.stderr.read()
        time.sleep(0.02)
    victim.kill()
    victim.communicate()
    require_well(workers[1])
    require_all_finished(workdir, storage)
    again = {run for run, times in Counter(run for run, _ in begun(workdir)).items() if times > 1}
    (lost,) = [run for run, process in begun(workdir) if process == str(victim.pid)][-1:]
    assert again == {lost}, "its last, and no other"
