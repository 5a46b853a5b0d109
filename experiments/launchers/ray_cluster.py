"""A list of runs on a Ray cluster: a task for each run that is left, each in a process of its own.

It does not matter which task takes which run: a run is taken by the lock in its folder, and goes on from its
checkpoint. So a task whose process or node was lost is simply begun again, wherever there is room. The nodes must share
the file system that the driver's folders are on.
"""

import logging
import os
import re
import signal
import socket
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from experiments import command
from experiments.launchers.work import Need, Work
from experiments.workdir import write_text
from transformer_jax.errors import UserError
from transformer_jax.training.loop import Observer

_RETRIES = 3  # of a task whose process or node was lost
_MARK = ".shared"


class ClusterError(UserError):
    """A cluster on which the list cannot be worked."""


@dataclass(frozen=True)
class Task:
    """What a worker process is to do, and where the driver stands."""

    work: Work
    argv: list[str]  # the driver's
    directory: Path  # the driver's
    workdir: Path
    mark: str  # what stands in the workdir's file `_MARK`


class Ended(NamedTuple):
    """What is known of a task that has come to its end."""

    node: str
    said: str  # by its list: which run it had, or why it had none


def run(work: Work, workdir: Path, need: Need, address: str | None, observer: Observer) -> None:
    """Works the list until nothing is left, or nobody gets on, or all that may be begun are, or the observer stops it.

    Raises:
      ClusterError: Ray is not installed or not there, a node does not share the file system, or tasks die.
      Exception: what a task raises.
    """
    left = len(work.left())
    if not left:
        return
    ray = _ray()
    workdir.mkdir(parents=True, exist_ok=True)
    with _connected(ray, address, need):
        room = _room(ray.nodes(), need)
        waiting = "" if room else ", and waits for a node that has"
        observer.say(f"{left} runs are left; the cluster has room for {room} at once{waiting}")
        task = ray.put(Task(work, sys.argv, Path.cwd(), workdir, _mark(workdir)))
        remote = ray.remote(num_cpus=need.cpus, num_gpus=need.gpus, max_calls=1, max_retries=_RETRIES)(work_one)
        _in_rounds(ray, lambda: remote.remote(task), work, need, observer)


def work_one(task: Task) -> Ended:
    """In a worker process: works one run that is free, as the driver's command would on this node.

    Ray cancels a task by a SIGINT in the main thread, where tasks run: the run is saved, and the task ends.
    """
    stopped, node, lines = command.StopOnSignal(), socket.gethostname(), list[str]()
    _enter(task, node)
    sys.argv = task.argv  # results name the command that they come from
    command.keep_compiled_programs()
    task.work.work(at_most=1, observer=Observer(lambda _: None, lines.append, stopped))
    return Ended(node, _said(lines))


def _said(lines: list[str]) -> str:
    """Without the runs that it met on its way to one that was free: other tasks have them, as a rule."""
    own = [line for line in lines if not line.endswith(" has it")]
    return "; ".join(own or lines[-1:] or ["nothing is left"])


def _enter(task: Task, node: str) -> None:
    """Into the driver's directory; raises ClusterError where the workdir is not the driver's."""
    try:
        os.chdir(task.directory)
        shared = (task.workdir / _MARK).read_text(encoding="utf-8") == task.mark
    except OSError:
        shared = False
    if not shared:
        place = task.directory / task.workdir
        raise ClusterError(f"{place} on {node} is not the driver's: the nodes must share the file system it is on")


def _mark(workdir: Path) -> str:
    """Tells this folder from one of the same name on another machine's disk."""
    path = workdir / _MARK
    if not path.exists():
        write_text(path, f"{uuid.uuid4()}\n")
    return path.read_text(encoding="utf-8")


def _ray() -> ModuleType:
    try:
        import ray
    except ImportError as error:
        raise ClusterError("--launcher=ray needs: pip install -r requirements-cluster.txt") from error
    return ray


@contextmanager
def _connected(ray: ModuleType, address: str | None, need: Need) -> Iterator[None]:
    """To the cluster at `address`; without one, to that of RAY_ADDRESS or this machine, or to a new one for a while."""
    _require_answer(address or os.environ.get("RAY_ADDRESS", ""))
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(
            address=address,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            runtime_env={"env_vars": _variables(need)},
        )
    except (ConnectionError, ValueError) as error:
        raise ClusterError(f"no Ray cluster to work on: {_first_line(error)}") from error
    signal.signal(signal.SIGTERM, handler)  # Ray's own would end the driver before its tasks have saved
    try:
        yield
    finally:
        ray.shutdown()


def _require_answer(address: str) -> None:
    """Raises ClusterError where nobody listens; Ray would go on trying for minutes."""
    place = re.fullmatch(r"(?:ray://)?(.+):(\d+)", address)
    if place is None:
        return  # "auto", "local", "": Ray looks on this machine
    try:
        socket.create_connection((place[1].strip("[]"), int(place[2])), timeout=10).close()
    except OSError as error:
        raise ClusterError(f"no Ray cluster at {address}: {error.strerror or error}") from error


def _variables(need: Need) -> dict[str, str]:
    """Of the workers' environment: they find this code where the driver does."""
    paths = [str(Path(__file__).resolve().parents[2]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    variables = {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    if not need.gpus:  # Ray would let the run see all GPUs of its node
        variables["CUDA_VISIBLE_DEVICES"] = ""
    return variables


def _room(nodes: list[dict[str, Any]], need: Need) -> int:
    """How many runs the nodes can have at once."""
    amounts = {"CPU": need.cpus, "GPU": need.gpus}
    resources = [node["Resources"] for node in nodes if node["Alive"]]
    return sum(min(int(has.get(name, 0) // of) for name, of in amounts.items() if of) for has in resources)


def _in_rounds(ray: ModuleType, submit: Callable[[], Any], work: Work, need: Need, observer: Observer) -> None:
    """A round has a task for each run that is left. A run outlasts it if its task was lost when others had ended."""
    left, begun = len(work.left()), 0
    while left and begun != need.at_most and not observer.should_stop():
        tasks = left if need.at_most is None else min(left, need.at_most - begun)
        lost = _round(ray, [submit() for _ in range(tasks)], work, observer)
        begun += tasks
        before, left = left, len(work.left())
        if left >= before:
            if lost:
                raise ClusterError(f"{left} runs are left, {len(lost)} tasks were lost {_RETRIES + 1} times: {lost[0]}")
            break


def _round(ray: ModuleType, pending: list[Any], work: Work, observer: Observer) -> list[str]:
    """Waits for tasks, and says how each ended; returns why, of those that were lost."""
    lost = []
    try:
        while pending and not observer.should_stop():
            done, pending = ray.wait(pending, timeout=1.0)
            for reference in done:
                try:
                    ended = _ended(ray, reference)
                    observer.say(f"{ended.node}: {ended.said}; {len(work.left())} left")
                except ray.exceptions.RayError as error:
                    lost.append(_first_line(error))
                    observer.say(f"a task was lost: {lost[-1]}")
    finally:
        _cancel(ray, pending, observer)
    return lost


def _ended(ray: ModuleType, reference: Any) -> Ended:
    """What a task returns; what it raised is raised here."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, ray.exceptions.RayError):  # the node has not this code, or not its libraries
            raise ClusterError(f"a node cannot read its task: {_first_line(error.cause)}") from error
        raise error.cause from error


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _cancel(ray: ModuleType, pending: list[Any], observer: Observer) -> None:
    """Returns when what runs has been saved."""
    if pending:
        observer.say("stopping; the same command goes on with what is left")
        for reference in pending:
            ray.cancel(reference)
        ray.wait(pending, num_returns=len(pending))
