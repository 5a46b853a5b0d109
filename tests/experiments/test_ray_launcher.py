"""A list of runs on a Ray cluster, without the cluster: rounds of tasks, what a task does, and who is let in.

With one, see tests/system/test_launched_table3.py.
"""

import signal
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tiny_experiment import tiny_experiment
from toy_runs import Toys

from experiments import command
from experiments.launchers import ray_cluster
from experiments.launchers.ray_cluster import ClusterError, Task, work_one
from experiments.launchers.work import Need
from experiments.run_list import Run, RunList
from experiments.workdir import claim
from transformer_jax.lock import taken
from transformer_jax.training.loop import Observer

NODES = [
    {"Alive": True, "Resources": {"CPU": 8.0, "GPU": 2.0, "memory": 1e9}},
    {"Alive": True, "Resources": {"CPU": 3.0, "memory": 1e9}},
    {"Alive": False, "Resources": {"CPU": 64.0, "GPU": 8.0}},
]
KEPT: list[bool] = []  # whether a worker was told to keep compiled programs


@pytest.mark.parametrize(
    ("need", "room"),
    [
        (Need(1, 0, None), 11),
        (Need(2, 0, None), 5),
        (Need(3, 1, None), 2),
        (Need(4, 2, None), 1),
        (Need(1, 3, None), 0),
    ],
)
def test_room_is_what_fits_into_nodes_that_are_up(need, room):
    assert ray_cluster._room(NODES, need) == room


class LostError(Exception):
    """Ray's, for a task whose process died too often."""


class RaisedError(LostError):
    """Ray's, around what a task has raised."""

    def __init__(self, cause: Exception):
        self.cause = cause


class Cluster:
    """In place of Ray, with as many tasks in work as are begun; each of `outcomes` is a task's, the last of all others.

    A task that works ends a run of the list; one that is free of it ends none; exceptions are raised.
    """

    exceptions = SimpleNamespace(RayError=LostError, RayTaskError=RaisedError)

    def __init__(self, toys: Toys, *outcomes: Any):
        self.toys, self.outcomes = toys, [*outcomes]
        self.begun, self.cancelled = [], []

    def submit(self) -> int:
        self.begun.append(self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0])
        return len(self.begun) - 1

    def wait(self, tasks, num_returns=1, timeout=None):  # noqa: ARG002
        return tasks[:num_returns], tasks[num_returns:]

    def get(self, task):
        outcome = self.begun[task]
        if isinstance(outcome, Exception):
            raise outcome
        self.toys.count -= outcome == "works"
        return ray_cluster.Ended("a node", outcome)

    def cancel(self, task):
        self.cancelled.append(task)

    def run(self, at_most: int | None = None, should_stop=lambda: False) -> list[str]:
        """What is said of it."""
        said = []
        ray_cluster._in_rounds(
            self, self.submit, self.toys, Need(1, 0, at_most), Observer(print, said.append, should_stop)
        )
        return said


def test_each_run_has_a_task_and_each_task_a_line():
    cluster = Cluster(Toys(3), "works")
    assert cluster.run() == ["a node: works; 2 left", "a node: works; 1 left", "a node: works; 0 left"]
    assert (len(cluster.begun), cluster.cancelled) == (3, [])


def test_a_run_that_outlasts_its_round_has_a_task_in_the_next():
    cluster = Cluster(Toys(3), "works", "is free", LostError("it died\nthere"), "works")
    assert "a task was lost: it died" in cluster.run()
    assert cluster.toys.count == 0
    assert len(cluster.begun) == 3 + 2


def test_runs_that_others_have_are_left_to_them():
    cluster = Cluster(Toys(3), "works", "is free")
    cluster.run()
    assert cluster.toys.count == 2
    assert len(cluster.begun) == 3 + 2, "no third round"


@pytest.mark.parametrize(("at_most", "begun"), [(1, 1), (2, 2), (4, 4), (9, 6)])
def test_no_more_tasks_are_begun_than_may(at_most, begun):
    cluster = Cluster(Toys(3), "works", "is free", "is free", "works", "is free", "works")
    cluster.run(at_most)
    assert len(cluster.begun) == begun


def test_tasks_that_only_die_are_an_error():
    cluster = Cluster(Toys(2), LostError("out of memory"))
    with pytest.raises(ClusterError, match=r"^2 runs are left, 2 tasks were lost 4 times: out of memory$"):
        cluster.run()
    assert len(cluster.begun) == 2


def test_what_a_task_raises_is_raised_and_the_others_are_told_to_stop():
    cluster = Cluster(Toys(4), "works", RaisedError(ClusterError("node 7 is not ours")), "works")
    with pytest.raises(ClusterError, match=r"^node 7 is not ours$"):
        cluster.run()
    assert cluster.cancelled == [2, 3]


def test_a_node_without_this_code_is_one_line():
    with pytest.raises(ClusterError, match=r"^a node cannot read its task: No module named 'experiments'$"):
        Cluster(Toys(1), RaisedError(LostError("No module named 'experiments'\ntraceback"))).run()


def test_a_stop_is_passed_on_and_nothing_new_is_begun():
    cluster = Cluster(Toys(4), "works")
    said = cluster.run(should_stop=lambda: cluster.toys.count < 3)
    assert said[-1] == "stopping; the same command goes on with what is left"
    assert (cluster.cancelled, len(cluster.begun)) == ([2, 3], 4)


@pytest.mark.parametrize("prefix", ["", "ray://"])
def test_an_address_where_nobody_listens_is_told_at_once(prefix):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"{prefix}127.0.0.1:{server.getsockname()[1]}"
        ray_cluster._require_answer(address)
    with pytest.raises(ClusterError, match=f"^no Ray cluster at {address}: Connection refused$"):
        ray_cluster._require_answer(address)


@pytest.mark.parametrize("address", ["", "auto", "local"])
def test_addresses_that_ray_looks_up_are_left_to_it(address):
    ray_cluster._require_answer(address)


@pytest.fixture
def worker(monkeypatch):
    """Lets a task run in this process; what it changes of it is put back."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    monkeypatch.setattr(command, "keep_compiled_programs", lambda: KEPT.append(True))
    KEPT.clear()
    monkeypatch.setattr(sys, "argv", ["default_worker.py"])
    monkeypatch.chdir(Path.cwd())
    yield work_one
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_a_worker_is_where_and_who_its_driver_is(worker, tmp_path):
    (tmp_path / "list").mkdir()
    toys = Toys(3)
    ended = worker(Task(toys, ["table3.py", "--seeds=3"], tmp_path, Path("list"), ray_cluster._mark(tmp_path / "list")))
    assert Path.cwd() == tmp_path
    assert sys.argv == ["table3.py", "--seeds=3"]
    ((at_most, observer),) = toys.calls
    assert at_most == 1
    assert KEPT == [True]
    assert ended.said == "toy of 3"
    assert not observer.should_stop()
    signal.raise_signal(signal.SIGINT)  # which is how Ray cancels
    assert observer.should_stop()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "nothing is left"),
        (["trial_0003, of 9: rate = 2", "seed_1, 1 of 1"], "trial_0003, of 9: rate = 2; seed_1, 1 of 1"),
        (["a: process 5 on node7 has it", "b, 2 of 2", "b failed: nan"], "b, 2 of 2; b failed: nan"),
        (["a: process 5 on node7 has it", "b: process 6 on node8 has it"], "b: process 6 on node8 has it"),
    ],
)
def test_a_task_tells_what_it_did_or_why_it_had_nothing_to_do(lines, said):
    assert ray_cluster._said(lines) == said


def test_what_a_list_says_of_a_run_that_another_has_is_known(tmp_path):
    run, said = Run("a", tiny_experiment()), []
    claim(tmp_path / run.name, run.experiment, accept_changes=False)
    with taken(tmp_path / run.name / ".run.lock"):
        RunList([run], tmp_path, "dev").work(observer=Observer(print, said.append, lambda: False))
    assert len(said) == 1
    assert ray_cluster._said([*said, "b, 2 of 2"]) == "b, 2 of 2"


@pytest.mark.parametrize("spoil", [
    lambda folder: folder.rename(folder.with_name("elsewhere")),
    lambda folder: (folder / ".shared").unlink(),
    lambda folder: (folder / ".shared").write_text("another machine's folder of this name"),
])  # fmt: skip
def test_a_node_that_does_not_share_the_workdir_is_named(worker, tmp_path, spoil):
    (tmp_path / "list").mkdir()
    toys = Toys(3)
    task = Task(toys, [], tmp_path, Path("list"), ray_cluster._mark(tmp_path / "list"))
    spoil(tmp_path / "list")
    with pytest.raises(ClusterError, match=r"list on \S+ is not the driver's: the nodes must share") as caught:
        worker(task)
    assert str(tmp_path / "list") in str(caught.value)
    assert toys.calls == []
