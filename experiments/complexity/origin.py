"""Where and with what Table 1 was measured, in a line."""

from typing import Any


def origin(made: dict[str, Any]) -> str:
    """Of `provenance()`: date, machine, code and libraries; all but the command."""
    versions = ", ".join(f"{package} {version}" for package, version in made["versions"].items())
    return f"{made['date'][:10]}, {made['machine']}, {made['devices']}; code {made['revision']}, {versions}."
