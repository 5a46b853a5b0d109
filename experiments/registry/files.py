"""JSON files of a run's folder, read as far as they can be: what cannot is said in `problems`, and nothing is raised.

A problem begins with the file's name. A file that is not there is empty.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def json_object(path: Path, problems: list[str]) -> dict[str, Any]:
    text = _text(path, problems)
    value = {} if text is None else _parsed(text)
    if isinstance(value, dict):
        return value
    problems.append(f"{path.name} is not a JSON object")
    return {}


def json_lines(path: Path, keys: Sequence[str], problems: list[str]) -> tuple[dict[str, Any], ...]:
    """The objects of the file that have all `keys`. A last line that a kill cut short is no problem."""
    *lines, rest = (_text(path, problems) or "").split("\n")
    values = list(map(_parsed, [*lines, rest] if _parsed(rest) is not None else lines))
    objects = [value for value in values if isinstance(value, dict) and value.keys() >= set(keys)
               and isinstance(value.get("step", 0), int)]  # fmt: skip
    if len(objects) < len(values):
        problems.append(f"{path.name}: {len(values) - len(objects):,} of {len(values):,} lines cannot be read")
    return tuple(objects)


def _text(path: Path, problems: list[str]) -> str | None:
    try:
        return path.read_text(encoding="utf-8") if path.exists() else None
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"{path.name}: {error.strerror if isinstance(error, OSError) else 'not UTF-8'}")
        return None


def _parsed(text: str) -> Any:
    """None for what is no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return None
