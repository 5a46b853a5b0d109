"""Checksums of a folder's files, kept beside them: damage is found, and named, before any library reads the files."""

import hashlib
import json
import os
from pathlib import Path

_NAME = "checksums.json"


def keep_checksums(folder: Path) -> None:
    """Writes the SHA-256 of every file in and below `folder` into it, whole or not at all."""
    temporary = folder / f".{_NAME}.tmp"
    temporary.write_text(json.dumps(_digests(folder)), encoding="utf-8")
    os.replace(temporary, folder / _NAME)


def has_checksums(folder: Path) -> bool:
    """Whether `keep_checksums` has come to its end there."""
    return (folder / _NAME).exists()


def find_damage(folder: Path) -> str | None:
    """What is wrong with the first file that is not as it was; None if all are. Without checksums nothing is whole."""
    path = folder / _NAME
    try:
        kept = dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return f"{_NAME} is missing"
    except ValueError:
        return f"{_NAME} is not what was written"
    found = _digests(folder)
    for name in sorted(kept.keys() | found.keys()):
        if name not in found:
            return f"{name} is missing"
        if found[name] != kept.get(name):
            return f"{name} is not what was written"
    return None


def _digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and _NAME not in path.name)
    return {path.relative_to(folder).as_posix(): _digest(path) for path in files}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
