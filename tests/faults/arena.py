"""A small run of the `train` command, again and again: undisturbed, and whatever befalls it."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from faults.lives import Life, command_of
from tiny_commands import write_corpus

from transformer_jax.file_checksums import has_checksums
from transformer_jax.training.metrics_log import Record, read_metrics

SETTINGS = {
    "Model.dropout_rate": 0.1, "Training.num_steps": 60, "Training.log_every_steps": 5,
    "Training.evaluate_every_steps": 20, "Training.checkpoint_every_steps": 4, "Training.keep_checkpoints": 3,
    "Batching.tokens_per_device": 512,
}  # fmt: skip
# Of all lives alike, and told before any of them has begun. They compile more than they compute.
ENVIRONMENT = {
    "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "", "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
}  # fmt: skip


class Arena:
    """Runs below `home`, all of the same experiment."""

    def __init__(self, home: Path):
        self.home = home
        self._lives = 0
        self._config = write_corpus(home / "text")
        self.undisturbed = self.finished(home / "undisturbed")
        began = time.monotonic()
        self.finished(home / "again")  # what is compiled is at hand
        self.seconds = time.monotonic() - began

    def begin(self, workdir: Path, *flags: str, **settings: object) -> Life:
        bindings = [f"--gin_param={name} = {value!r}" for name, value in (SETTINGS | settings).items()]
        return self.live(command_of("train", f"--gin_file={self._config}", f"--workdir={workdir}", *bindings, *flags))

    def live(self, body: Callable[[], None]) -> Life:
        self._lives += 1
        return Life(body, self.home / f"said.{self._lives}")

    def finished(self, workdir: Path, *flags: str) -> "End | None":
        """How the run ends if it is left to; None, and what it said is printed, if it fails."""
        life = self.begin(workdir, *flags)
        if life.end() == 0:
            return End(workdir)
        print(life.said())
        return None

    def ends_the_same(self, workdir: Path) -> bool:
        return self.undisturbed is not None and self.finished(workdir) == self.undisturbed

    def workdirs(self, name: str, count: int) -> list[Path]:
        return [self.home / f"{name}.{number}" for number in range(1, count + 1)]


class End:
    """The arrays of the last checkpoint, by their checksums, and what the log says of the dev set."""

    def __init__(self, workdir: Path):
        self.step, self.arrays = newest(workdir)
        records = read_metrics(workdir / "metrics.jsonl")
        self.dev = [record for record in records if record["kind"] == "dev"]
        self.skipped = [record for record in records if record["kind"] == "skipped"]
        self.in_order = _in_order(records)

    def __eq__(self, other: object) -> bool:
        return self.in_order and isinstance(other, End) and vars(self) == vars(other)


def newest(workdir: Path) -> tuple[int, str]:
    step = max(saved(workdir))
    return step, (workdir / "checkpoints" / str(step) / "manifest" / "metadata").read_text()


def _in_order(records: list[Record]) -> bool:
    steps = [record["step"] for record in records if record["kind"] == "train"]
    return steps == sorted(set(steps))


def saved(workdir: Path) -> list[int]:
    """The steps of its checkpoints."""
    folder = workdir / "checkpoints"
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit()) if folder.exists() else []


def half_written(workdir: Path) -> set[tuple[str, int]]:
    """Checkpoints that are not whole, or not wholly removed, each by its name and its inode."""
    try:
        entries = list(os.scandir(workdir / "checkpoints"))
    except FileNotFoundError:
        return set()
    return {(entry.name, entry.inode()) for entry in entries if not _is_whole(entry)}


def _is_whole(entry: os.DirEntry) -> bool:
    return entry.name.isdigit() and has_checksums(Path(entry.path))


def wait(life: Life, until: Callable[..., object], *arguments: object) -> None:
    """Until `until(*arguments)`, or the life's end."""
    while life.alive and not until(*arguments):
        time.sleep(0.001)
