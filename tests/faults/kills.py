"""SIGKILL at random moments of a run's life, and while a checkpoint is being written."""

import random
import signal
import time
from pathlib import Path

from faults.arena import Arena, half_written, wait
from faults.lives import Life
from faults.tally import Tally

_LONGEST_SAVE = 0.15  # seconds, about
_SAVES_A_LIFE = 6


def random_kills(arena: Arena, rng: random.Random, kills: int) -> list[Tally]:
    """Runs are killed again and again until they come to their end, and new ones begun until there are `kills`.

    Every second life is killed at a moment drawn from the time that a whole one takes. In the others it is a moment
    after a checkpoint, one of the next few, has been begun.
    """
    runs, done, same, inside = 0, {True: 0, False: 0}, {True: 0, False: 0}, {True: 0, False: 0}
    while sum(done.values()) < kills:
        runs += 1
        workdir, own = arena.home / f"killed.{runs}", {True: 0, False: 0}
        while sum(done.values()) + sum(own.values()) < kills:
            aimed, before = rng.random() < 0.5, half_written(workdir)
            life = arena.begin(workdir)
            (_in_a_save if aimed else _at_random)(arena, rng, workdir, life)
            if life.code != -signal.SIGKILL:
                break  # it came to its end
            own[aimed] += 1
            inside[aimed] += bool(half_written(workdir) - before)
        survived = arena.ends_the_same(workdir)
        for aimed, number in own.items():
            done[aimed] += number
            same[aimed] += number * survived
    return [_tally(aimed, done[aimed], same[aimed], inside[aimed], runs) for aimed in (False, True)]


def _tally(aimed: bool, done: int, same: int, inside: int, runs: int) -> Tally:
    fault = "SIGKILL while a checkpoint is written" if aimed else "SIGKILL at a random moment"
    promise = "the same command goes on, to the parameters, optimizer state and dev losses of the undisturbed run"
    return Tally(fault, promise, done, same, f"of {runs} runs; {inside} times a checkpoint was left unfinished")


def _at_random(arena: Arena, rng: random.Random, _workdir: Path, life: Life) -> None:
    wait(life, _is_over, time.monotonic() + rng.uniform(0, arena.seconds))
    life.end(signal.SIGKILL)


def _is_over(end: float) -> bool:
    return time.monotonic() > end


def _has_more(workdir: Path, known: set[tuple[str, int]]) -> bool:
    return bool(half_written(workdir) - known)


def _in_a_save(_arena: Arena, rng: random.Random, workdir: Path, life: Life) -> None:
    known = half_written(workdir)
    for _ in range(rng.randint(1, _SAVES_A_LIFE)):
        wait(life, _has_more, workdir, known)
        known |= half_written(workdir)
    time.sleep(rng.uniform(0, _LONGEST_SAVE))
    life.end(signal.SIGKILL)
