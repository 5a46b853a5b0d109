"""The folder of a run: its config in full, its vocabulary, its checkpoints and results."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from experiments.added_settings import ADDED
from experiments.gin_bindings import Binding, build_experiment, load_bindings, resolved, to_gin
from transformer_jax.config import Experiment
from transformer_jax.data.vocabulary import Vocabulary, load_vocabulary
from transformer_jax.errors import UserError


class WorkdirError(UserError):
    """A workdir that cannot be used as asked: the message names it and says why."""


def differences(ours: Experiment, theirs: Experiment) -> list[str]:
    """ "Name: their value -> our value" for each setting that differs."""
    before, now = resolved(theirs), resolved(ours)
    return [f"{name}: {before[name]!r} -> {now[name]!r}" for name in now if before[name] != now[name]]


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yields where to write; then all of it stands at `path`, or, if writing fails, what stood there before.

    Processes that write one file at a time do not meet: the last one's stays.
    """
    temporary = path.with_name(f".{path.name}.{socket.gethostname()}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes the whole file or nothing."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def claim(workdir: Path, experiment: Experiment, *, accept_changes: bool) -> list[str]:
    """Makes `workdir` the run of `experiment`, or finds that it is already; returns the settings that were overridden.

    Raises:
      WorkdirError: it is another experiment's, or holds files of something else. Nothing is changed then.
    """
    path = workdir / "config.gin"
    changes = []
    if path.exists():
        changes = differences(experiment, read_experiment(workdir, [], []))
        if changes and not accept_changes:
            listed = "; ".join(changes)
            raise WorkdirError(
                f"{workdir} was made with another config ({listed}): choose another --workdir, or say --accept_changes"
            )
    elif workdir.exists() and not workdir.is_dir():
        raise WorkdirError(f"{workdir} is not a directory: choose another --workdir")
    elif workdir.exists() and any(workdir.iterdir()):
        raise WorkdirError(f"{workdir} is not empty and not a run's (it has no config.gin): choose another --workdir")
    if changes or not path.exists():
        workdir.mkdir(parents=True, exist_ok=True)
        write_text(path, to_gin(experiment))
    return changes


def read_experiment(workdir: Path, gin_files: list[str], gin_params: list[str]) -> Experiment:
    """The experiment of a run, with further files and bindings on top, which are not written back."""
    path = workdir / "config.gin"
    if not path.exists():
        raise WorkdirError(f"{workdir} holds no run (it has no config.gin): train one there first")
    added = {name: Binding(name, value, str(path)) for name, value in ADDED.items()}
    return build_experiment(added | load_bindings([path, *gin_files], gin_params))


def note_launch(workdir: Path, launch: dict[str, Any]) -> None:
    """Adds a line to `launches.jsonl`: every command that trained this run, and where. No line is ever half there."""
    path = workdir / "launches.jsonl"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    write_text(path, f"{before}{json.dumps(launch)}\n")


def keep_vocabulary(workdir: Path, vocabulary: Vocabulary) -> None:
    """Saves the vocabulary beside the checkpoints that mean its ids.

    Raises:
      WorkdirError: the run has another one, so the training text has changed under it.
    """
    path = workdir / "vocabulary.model"
    if not path.exists():
        vocabulary.save(path)
    elif load_vocabulary(path).fingerprint != vocabulary.fingerprint:
        raise WorkdirError(f"{path} differs from the vocabulary of today's training text: that text has changed")


def read_vocabulary(workdir: Path) -> Vocabulary:
    return load_vocabulary(workdir / "vocabulary.model")
