"""Where a sweep's study is kept: in the workdir, or in any database that Optuna knows; and whose it is."""

import json
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import optuna
from optuna.exceptions import OptunaError
from optuna.study import StudyDirection
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from experiments.registry.records import HIGHER_IS_BETTER
from experiments.study.definition import Definition
from experiments.workdir import WorkdirError, write_text
from transformer_jax.errors import UserError
from transformer_jax.lock import waited_for

LOCK = ".sweep.lock"  # held while a trial is taken or the study is made
IDENTITY = "sweep.json"  # the study's name, and the definition that all workers must agree on
_SECONDS_TO_WAIT = 120  # for another process's write


class StorageError(UserError):
    """A study that cannot be kept or found: the message says where."""


def require_own(workdir: Path, definition: Definition) -> None:
    """Raises WorkdirError if `workdir` is another sweep's, or anything else's. Nothing is changed."""
    path = workdir / IDENTITY
    if path.exists():
        _require_same(path, definition)
    elif workdir.exists() and not workdir.is_dir():
        raise WorkdirError(f"{workdir} is not a directory: choose another --workdir")
    elif workdir.exists() and any(not entry.name.startswith(".") for entry in workdir.iterdir()):
        raise WorkdirError(f"{workdir} is not empty and no sweep's (it has no {IDENTITY}): choose another --workdir")


def open_study(workdir: Path, url: str | None, definition: Definition) -> optuna.Study:
    """The sweep's study, made if there is none yet; `url` is the database's, None for one in the workdir.

    Raises:
      WorkdirError: the workdir is another sweep's, or something else's.
      StorageError: the database cannot be used, or does not know the study.
    """
    require_own(workdir, definition)
    workdir.mkdir(parents=True, exist_ok=True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    where = url or f"sqlite:///{(workdir / 'study.db').resolve()}"
    with waited_for(workdir / LOCK):
        name = _claimed(workdir, definition)
        with told_in_one_line(where):
            return _load(_storage(where), name, workdir, definition)


@contextmanager
def told_in_one_line(url: str | None) -> Iterator[None]:
    """Raises StorageError for whatever the database, or the way to it, raises."""
    try:
        yield
    except (SQLAlchemyError, ImportError, OptunaError) as error:
        reason = str(error).strip().splitlines()[0]
        raise StorageError(f"--storage={_without_password(url or 'study.db')}: {reason}") from error


def _claimed(workdir: Path, definition: Definition) -> str:
    """The study's name, which no other in a database has."""
    path = workdir / IDENTITY
    if not path.exists():
        name = f"{workdir.resolve().name}-{uuid.uuid4().hex[:12]}"
        identity = {"study": name, "definition": definition.described()}
        write_text(path, json.dumps(identity, indent=2, ensure_ascii=False) + "\n")
    return _require_same(path, definition)


def _require_same(path: Path, definition: Definition) -> str:
    """The name in the file, which must be of the same sweep."""
    try:
        identity = json.loads(path.read_text(encoding="utf-8"))
        name, theirs = str(identity["study"]), dict(identity["definition"])
    except (ValueError, KeyError, TypeError) as error:
        raise WorkdirError(f"{path} is not what a sweep writes: choose another --workdir") from error
    ours = definition.described()
    changes = [f"{key}: {theirs.get(key, 'not said')} -> {ours.get(key, 'not said')}" for key in [*ours, *theirs]
               if ours.get(key) != theirs.get(key)]  # fmt: skip
    if changes:
        listed = "; ".join(dict.fromkeys(changes))
        raise WorkdirError(f"{path.parent} holds another sweep ({listed}): choose another --workdir")
    return name


def _storage(url: str) -> optuna.storages.RDBStorage:
    """Connects anew each time: a trial takes hours, and a connection that idles so long may be none any more."""
    waits = {"connect_args": {"timeout": _SECONDS_TO_WAIT}} if url.startswith("sqlite") else {}
    return optuna.storages.RDBStorage(url, engine_kwargs={"poolclass": NullPool, **waits})


def _load(storage: optuna.storages.RDBStorage, name: str, workdir: Path, definition: Definition) -> optuna.Study:
    known = any(study.study_name == name for study in storage.get_all_studies())
    if not known and any(workdir.glob("trial_*")):
        raise StorageError(f"{workdir} has trials of the study {name}, which is not there: say the --storage of before")
    direction = StudyDirection.MAXIMIZE if HIGHER_IS_BETTER[definition.sweep.metric] else StudyDirection.MINIMIZE
    return optuna.create_study(storage=storage, study_name=name, direction=direction, load_if_exists=True)


def _without_password(url: str) -> str:
    try:
        return make_url(url).render_as_string(hide_password=True)
    except SQLAlchemyError:
        return url
