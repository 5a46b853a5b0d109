"""A run that is asked to stop, one that meets another in its workdir, and one that loses its peer."""

import random
import re
import signal
import socket
import time
from pathlib import Path

from faults.arena import Arena, End, saved, wait
from faults.lives import Life
from faults.tally import Tally

from transformer_jax import parallel


def stops(arena: Arena, rng: random.Random, number: signal.Signals, count: int) -> Tally:
    """At a random moment after the first checkpoint."""
    survived = 0
    for workdir in arena.workdirs(number.name, count):
        life = arena.begin(workdir)
        _get_going(arena, rng, workdir, life)
        stopped = life.end(number) == 0 and re.search(r"^stopped at step \d+, saved; ", life.said(), re.MULTILINE)
        survived += bool(stopped) and arena.ends_the_same(workdir)
    promise = "the run saves and ends with code 0; the same command goes on, to the undisturbed run's end"
    return Tally(number.name, promise, count, survived)


def two_runs(arena: Arena, rng: random.Random, count: int) -> Tally:
    survived = 0
    for workdir in arena.workdirs("two", count):
        first = arena.begin(workdir)
        _get_going(arena, rng, workdir, first)
        second = arena.begin(workdir)
        refused = second.end() == 1 and f"process {first.pid} on {socket.gethostname()} trains there" in second.said()
        survived += refused and first.end() == 0 and End(workdir) == arena.undisturbed
    promise = "the second ends with code 1 and names the first's process; the first ends as the undisturbed run"
    return Tally("Two runs in one workdir", promise, count, survived)


def lost_peer(arena: Arena, rng: random.Random, count: int) -> Tally:
    """Of two processes either is killed. What they are compared with are two that were not."""
    expected, survived, slowest = _ended(_pair(arena, arena.home / "pair"), arena.home / "pair"), 0, 0.0
    for victim, workdir in enumerate(arena.workdirs("peer", count)):
        pair = _pair(arena, workdir)
        _get_going(arena, rng, workdir, pair[0])
        pair[victim % 2].end(signal.SIGKILL)
        began = time.monotonic()
        failed = pair[1 - victim % 2].end() != 0
        slowest = max(slowest, time.monotonic() - began)
        in_time = slowest < parallel.LOST_AFTER_SECONDS + 15
        survived += failed and in_time and _ended(_pair(arena, workdir), workdir) == expected
    promise = (
        f"the other ends, not with 0, within {parallel.LOST_AFTER_SECONDS + 15} s; started again, both go on to the "
        "undisturbed pair's end"
    )
    return Tally("A process of two is killed", promise, count, survived, f"after {slowest:.1f} s at most")


def _get_going(arena: Arena, rng: random.Random, workdir: Path, life: Life) -> None:
    """Waits for the first checkpoint, and then for a moment."""
    wait(life, saved, workdir)
    time.sleep(rng.uniform(0, arena.seconds / 4))


def _pair(arena: Arena, workdir: Path) -> list[Life]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        together = ["--coordinator={}:{}".format(*free.getsockname()), "--num_processes=2"]
    return [arena.begin(workdir, *together, f"--process_id={process}") for process in (0, 1)]


def _ended(pair: list[Life], workdir: Path) -> End | None:
    return End(workdir) if [life.end() for life in pair] == [0, 0] else None
