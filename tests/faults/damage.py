"""Files that are not what was written, a disc without room, and numbers that are not finite."""

import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

from faults.arena import Arena, End, half_written, saved, wait
from faults.tally import Tally
from planted import SEPARATE, plant
from small_disc import MountError, fill, mounted
from tiny_experiment import random_corpus, tiny_experiment

from transformer_jax.training.loop import train
from transformer_jax.training.observer import Observer


def _cut(path: Path, rng: random.Random) -> None:
    os.truncate(path, rng.randrange(path.stat().st_size))


def _flip(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def _has_three(workdir: Path) -> bool:
    """Whole ones: of one that is not, nobody knows yet what its files should be."""
    return len(saved(workdir)) > 2 and not half_written(workdir)


def _has_step(workdir: Path, step: int) -> bool:
    return step in saved(workdir)


def damaged_file(arena: Arena, rng: random.Random, fault: str, count: int) -> Tally:
    """Of the newest checkpoint of a run that was killed, any file."""
    spoil: Callable[[Path, random.Random], None] = _cut if fault == "cut" else _flip
    survived = 0
    for workdir in arena.workdirs(fault, count):
        life = arena.begin(workdir)
        wait(life, _has_three, workdir)
        life.end(signal.SIGKILL)
        newest = workdir / "checkpoints" / str(saved(workdir)[-1])
        files = [path for path in sorted(newest.rglob("*")) if path.is_file() and path.stat().st_size]
        spoil(rng.choice(files), rng)
        again = arena.begin(workdir)
        told = again.end() == 0 and f"checkpoint {newest} is damaged: " in again.said()
        survived += told and End(workdir) == arena.undisturbed
    promise = "it is named, the checkpoint before is used, and the run ends as the undisturbed one"
    return Tally({"cut": "A file cut short", "flip": "A flipped bit"}[fault], promise, count, survived)


def full_disc(arena: Arena, rng: random.Random, count: int) -> Tally:
    """A small disc with room for some checkpoints, or for none."""
    survived, tried = 0, 0
    for workdir in arena.workdirs("disc", count):
        try:
            with mounted(workdir, 16 * 1024) as disc:
                tried += 1
                filling = fill(disc, leave=2**20 + rng.randrange(800_000))
                life = arena.begin(disc / "run")
                told = life.end() == 1 and ": the disc is full: " in life.said().splitlines()[-1]
                filling.unlink()
                survived += told and arena.ends_the_same(disc / "run")
        except MountError:
            break
    promise = "one line, code 1; when there is room the same command goes on, to the undisturbed run's end"
    return Tally("A full disc", promise, tried, survived, "" if tried else "needs leave to mount a disc")


def not_finite(arena: Arena, rng: random.Random, count: int) -> Tally:
    """Batches that hold the planted word (see `test_skipped`); killed on the way there and after."""

    def begin(workdir: Path):
        return arena.live(lambda: _train_planted(workdir))

    def ended(workdir: Path) -> End | None:
        return End(workdir) if begin(workdir).end() == 0 else None

    expected, survived = ended(arena.home / "planted"), 0
    for workdir in arena.workdirs("planted", count):
        life = begin(workdir)
        wait(life, _has_step, workdir, rng.choice([3, 6, 9]))
        life.end(signal.SIGKILL)
        survived += expected is not None and len(expected.skipped) == 4 and ended(workdir) == expected
    promise = (
        "the run goes back to the checkpoint before, leaves out the batches since, and ends so wherever it is killed"
    )
    return Tally("A loss that is not finite (Training.skip_non_finite = 4)", promise, count, survived)


def _train_planted(workdir: Path) -> None:
    if not saved(workdir):
        shutil.rmtree(workdir, ignore_errors=True)
        plant(workdir, 4)
    settings = {"num_steps": 13, "checkpoint_every_steps": 3, "skip_non_finite": 4, "keep_checkpoints": 9, **SEPARATE}
    observer = Observer(lambda _: None, print, lambda: False)
    train(tiny_experiment(**settings), random_corpus(1, 37), random_corpus(2, 13), workdir, observer)
