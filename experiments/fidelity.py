"""Writes the fidelity checklist: what the paper says, where it lives here, and the tests that hold it.

python -m experiments.fidelity

The list is `docs/fidelity.toml`; this makes `docs/fidelity.md` of it.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from experiments import command
from experiments.markdown import compact_table
from experiments.workdir import write_text
from transformer_jax.errors import UserError

ROOT = Path(__file__).resolve().parents[1]
Source = Literal["paper", "code", "derived"]
CHAPTERS = {"3": "Architecture", "4": "Why self-attention", "5": "Training", "6": "Decoding and scoring"}
KINDS = ("held", "departs", "missing")
_INTRODUCTION = """\
# Fidelity

<!-- written by `python -m experiments.fidelity`; the list is fidelity.toml -->

What "Attention Is All You Need" (Vaswani et al. 2017, arXiv:1706.03762v7) says, a statement a row, in our own words and
by its sections: where it lives here, and the tests that fail when the code no longer does it. The source says whether
it is the **paper**'s, only the authors' **code**'s (tensor2tensor 1.0.3, June 2017), or **derived** from the paper by
arithmetic. The tests' paths start at `tests/`.
"""


class FidelityError(UserError):
    """A checklist that cannot be read: the message names the file, the entry and the rule."""


@dataclass(frozen=True)
class Statement:
    """One testable thing that the paper or its code says."""

    section: str  # of the paper: "3.2.1"
    text: str
    source: Source
    file: str = ""  # where it lives, from the project's root; "" for what is not there yet
    tests: tuple[str, ...] = ()  # "tests/model/test_masks.py::test_name"
    here: str = ""  # what is done instead, of a departure
    readme: str = ""  # the row of the README's departures that it is


@dataclass(frozen=True)
class Checklist:
    """What is held, what departs from the paper or its code, and what is not there yet; each in the file's order."""

    held: tuple[Statement, ...]
    departs: tuple[Statement, ...]
    missing: tuple[Statement, ...]

    @property
    def all(self) -> tuple[Statement, ...]:
        return self.held + self.departs + self.missing


def read_checklist(path: Path) -> Checklist:
    """Raises FidelityError if the file is no checklist, and OSError if there is none."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # no TOML, or no UTF-8
        raise FidelityError(f"{path}: {error}") from error
    if unknown := sorted(tables.keys() - set(KINDS)):
        raise FidelityError(f"{path}: {unknown[0]} is none of {', '.join(KINDS)}")
    kinds = (tables.get(kind, []) for kind in KINDS)
    return Checklist(*(tuple(_statement(path, entry) for entry in entries) for entries in kinds))


def _statement(path: Path, entry: dict[str, Any]) -> Statement:
    tests = tuple(entry.get("tests", ()))
    where = f"{path}: {entry.get('text', entry)!r}"
    if not all(isinstance(value, str) for value in (entry | {"tests": ""}).values()):
        raise FidelityError(f"{where}: only tests may be anything else than a string")
    try:
        statement = Statement(**entry | {"tests": tests})
    except TypeError as error:
        raise FidelityError(f"{where}: {str(error).removeprefix('Statement.__init__() ')}") from error
    if statement.source not in get_args(Source):
        raise FidelityError(f"{where}: source = {statement.source!r} must be one of {', '.join(get_args(Source))}")
    if statement.section.split(".")[0] not in CHAPTERS:
        raise FidelityError(f"{where}: section = {statement.section!r} must be in one of {', '.join(CHAPTERS)}")
    return statement


def to_markdown(checklist: Checklist) -> str:
    """The page, whose links start at the folder `docs`."""
    parts = [_INTRODUCTION]
    for chapter, title in CHAPTERS.items():
        rows = [statement for statement in checklist.held if statement.section.split(".")[0] == chapter]
        cells = ((row.section, row.text, row.source, _file(row), _tests(row)) for row in rows)
        parts += [
            f"## {chapter}. {title}\n",
            compact_table(("section", "statement", "source", "where", "tests"), cells),
        ]
    instead = ((row.section, row.text, row.source, row.here, _file(row), _tests(row)) for row in checklist.departs)
    columns = ("section", "statement", "source", "here instead", "where", "tests")
    parts += ["## What departs\n", compact_table(columns, instead)]
    missing = ((row.section, row.text, row.source) for row in checklist.missing)
    parts += ["## What is not there yet\n", compact_table(("section", "statement", "source"), missing)]
    return "\n".join(parts)


def _file(statement: Statement) -> str:
    return f"[`{statement.file}`](../{statement.file})"


def _tests(statement: Statement) -> str:
    if not statement.tests:
        return "no test"
    return "<br>".join(f"[`{test.removeprefix('tests/')}`](../{test.partition('::')[0]})" for test in statement.tests)


def main() -> None:
    flags = command.Parser(__doc__)
    flags.add_argument("--list", type=Path, default=ROOT / "docs" / "fidelity.toml")
    flags.add_argument("--into", type=Path, default=ROOT / "docs" / "fidelity.md")
    args = flags.parse_args()
    write_text(args.into, to_markdown(read_checklist(args.list)))
    print(f"written: {args.into}")


if __name__ == "__main__":
    command.run(main)
