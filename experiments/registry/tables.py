"""Tables of runs and a page about one: what `experiments.runs` prints of the registry.

A column is one of COLUMNS or a setting ("Model.d_ff"). Settings are written as in gin, so that what a table says can be
copied into a config or a filter.
"""

import ast
import csv
import dataclasses
import difflib
import io
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from experiments.gin_bindings import to_gin
from experiments.markdown import compact_table
from experiments.registry.records import HIGHER_IS_BETTER, SEED, RegistryError, RunRecord, number, same_setting
from transformer_jax.checked import ConfigError

Row = dict[str, Any]  # a run's value in each column that it has; None is blank
_BEFORE = ("path", "state", "seed", "updates")  # then the settings that differ
_AFTER = (*HIGHER_IS_BETTER, "target_tokens", "seconds", "flops", "revision", "date", "remarks")
COLUMNS = (*_BEFORE, *_AFTER)
_FORMATS = {
    "updates": ",", "bleu": ".2f", "chrf": ".2f", "exact_match_percent": ".1f", "f1": ".2f",
    "perplexity_per_piece": ".3f", "loss": ".4f", "target_tokens": ",.0f", "flops": ".2e",
}  # fmt: skip
_DIGITS = 8  # of a setting, for reading
_NUMBER = re.compile(r"[-+.,:\de]*")
_CONDITION = re.compile(r"\s*([\w.]+)\s*(==|!=|<=|>=|=|<|>)\s*(\S.*?)\s*")
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Table(NamedTuple):
    """Values under columns; None is blank."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    like: Mapping[str, str] = MappingProxyType({})  # column -> the one whose format it has

    def text(self, form: str) -> str:
        """As "csv", with numbers in full; as "markdown" or "table", with rounded ones."""
        if form == "csv":
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows([self.columns, *self.rows])
            return text.getvalue()
        columns = [
            [name, *(_cell(self.like.get(name, name), row[index]) for row in self.rows)]
            for index, name in enumerate(self.columns)
        ]
        if form == "markdown":
            return compact_table(self.columns, list(zip(*columns, strict=True))[1:])
        lines = zip(*map(_aligned, columns), strict=True)
        return "".join("  ".join(line).rstrip() + "\n" for line in lines)


def _aligned(cells: list[str]) -> list[str]:
    """Numbers stand right, all else left."""
    width = max(map(len, cells))
    right = all(_NUMBER.fullmatch(cell) for cell in cells[1:])
    return [cell.rjust(width) if right else cell.ljust(width) for cell in cells]


def _cell(column: str, value: Any) -> str:
    if value is None:
        return ""
    if column == "seconds":
        return str(timedelta(seconds=round(value)))
    if column == "date":
        return value[:16].replace("T", " ")
    if isinstance(value, float) and column not in _FORMATS:
        return repr(value) if len(repr(value)) <= _DIGITS else f"{value:.4g}"
    return format(value, _FORMATS.get(column, "") if isinstance(value, (int, float)) else "")


def row(record: RunRecord, split: str) -> Row:
    """Everything of a run that a column can show."""
    settings = record.settings(split)
    sources = record.launches or tuple(record.results.values())
    revisions = dict.fromkeys(str(source["revision"]) for source in sources if source.get("revision"))
    dates = [str(source["date"]) for source in sources if source.get("date")]
    return {
        "path": str(record.path),
        "state": record.state(split),
        "seed": settings.get(SEED),
        **{name: record.totals.get(name) for name in ("updates", "target_tokens", "seconds", "flops")},
        **settings,
        **record.scores(split),
        "revision": " ".join(revisions) or None,
        "date": max(dates, default=None),
        "remarks": "; ".join(record.remarks(split)) or None,
    }


def matching(records: Sequence[RunRecord], split: str, conditions: Sequence[str]) -> list[RunRecord]:
    """The runs of which all conditions hold, such as "Model.d_ff = 256" or "bleu > 20".

    Raises:
      RegistryError: a condition cannot be read, or can hold of no run; or there is no run of which they hold.
    """
    rows = [row(record, split) for record in records]
    experiments = [record.experiment for record in records if record.experiment]
    holds = [_condition(text, rows, experiments) for text in conditions]
    kept = [record for record, values in zip(records, rows, strict=True) if all(test(values) for test in holds)]
    if not kept:
        raise RegistryError(f"none of {len(records)} runs has {' and '.join(conditions)}")
    return kept


def _condition(text: str, rows: list[Row], experiments: list[Any]) -> Callable[[Row], bool]:
    match = _CONDITION.fullmatch(text)
    if not match:
        raise RegistryError(f"--filter={text}: must be like 'Model.d_ff = 256' or 'bleu > 20'")
    name, sign, written = match.groups()
    _require_columns([name], rows, f"--filter={text}")
    try:
        wanted = ast.literal_eval(written)
    except (ValueError, SyntaxError) as error:
        raise RegistryError(f"--filter={text}: {written} is no value as gin writes them (text in quotes)") from error
    known = [values[name] for values in rows if values.get(name) is not None]
    if "." in name and sign in ("=", "==", "!="):
        _require_possible(name, wanted, experiments, f"--filter={text}")
    elif known and wanted is not None and not any(_comparable(value, wanted) for value in known):
        raise RegistryError(f"--filter={text}: {name} is never such a value, but for example {known[0]!r}")
    if sign in ("=", "==", "!="):
        return lambda values: name in values and _OPERATORS[sign](values[name], wanted)
    return lambda values: _comparable(values.get(name), wanted) and _OPERATORS[sign](values[name], wanted)


def _comparable(one: Any, other: Any) -> bool:
    return any(isinstance(one, kind) and isinstance(other, kind) for kind in ((int, float), str))


def _require_possible(name: str, value: Any, experiments: list[Any], where: str) -> None:
    """Some run's config would take the value: what no config takes is a slip of whoever asks."""
    problem = None
    for experiment in experiments:
        part, field = name.split(".")
        try:
            dataclasses.replace(getattr(experiment, part.lower()), **{field: value})
            return
        except ConfigError as error:
            problem = error
    if problem:
        raise RegistryError(f"{where}: {problem}")


def _require_columns(names: Sequence[str], rows: list[Row], where: str) -> None:
    settings = dict.fromkeys(name for values in rows for name in values if "." in name)
    for name in names:
        if name not in COLUMNS and name not in settings:
            close = difflib.get_close_matches(name, [*COLUMNS, *settings], n=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            choices = f"columns are {', '.join(COLUMNS)}, and settings such as Model.d_model"
            raise RegistryError(f"{where}: {name} is no column ({choices}){hint}")


def differing(rows: Sequence[Row]) -> list[str]:
    """The settings, but for the seed, that are not the same in all rows that have them."""
    names = dict.fromkeys(name for values in rows for name in values if "." in name and name != SEED)
    return [name for name in names if len({same_setting(values[name]) for values in rows if name in values}) > 1]


def listing(records: Sequence[RunRecord], split: str, *, sort: str | None, columns: Sequence[str] | None) -> Table:
    """A row a run; `columns` are those that hold anything unless given, `sort` is a column, with "-" the largest first.

    Raises:
      RegistryError: there is no such column.
    """
    rows = [row(record, split) for record in records]
    _require_columns(columns or (), rows, "--columns")
    if sort:
        name = sort.removeprefix("-")
        _require_columns([name], rows, f"--sort={sort}")
        blank = [values for values in rows if values.get(name) is None]
        filled = [values for values in rows if values.get(name) is not None]
        rows = sorted(filled, key=lambda values: _order(values[name]), reverse=sort.startswith("-")) + blank
    if columns is None:
        held = [name for name in (*_BEFORE, *differing(rows), *_AFTER)
                if any("." in name or values.get(name) is not None for values in rows)]  # fmt: skip
        columns = held
    return Table(columns, [[_shown(values, name) for name in columns] for values in rows])


def _order(value: Any) -> tuple[bool, float, str]:
    """Numbers before texts."""
    return (False, value, "") if isinstance(value, (int, float)) else (True, 0, str(value))


def _shown(values: Row, name: str) -> Any:
    return as_written(values[name]) if "." in name and name in values else values.get(name)


def as_written(value: Any) -> Any:
    """A setting's value as gin writes it; a float as itself, for what was drawn at random has more digits than tell."""
    return value if isinstance(value, float) else repr(value)


def page(record: RunRecord) -> str:
    """Everything about one run, for reading."""
    scored = f", scored on {', '.join(record.results)}" if record.results else ""
    failed = [f"failed: {record.failure}"] if record.failure is not None else []
    sections = {
        "config": to_gin(record.experiment).splitlines() if record.experiment else [],
        **{f"launch {index}": _lines(launch) for index, launch in enumerate(record.launches, 1)},
        "training": _lines({**record.totals}),
        **{f"last logged of {kind}": _lines(last) for kind, last in _last(record).items()},
        **{f"scores on {split}": _scores(record, split) for split in record.results},
        "files": [f"{size:>15,} bytes  {name}" for name, size in record.files()],
    }
    blocks = [[title, *(f"  {line}" for line in lines)] for title, lines in sections.items() if lines]
    head = [f"{record.path}: {record.progress}{scored}", *failed, *record.problems]
    return "\n\n".join("\n".join(lines) for lines in [head, *blocks]) + "\n"


def _last(record: RunRecord) -> dict[str, dict[str, Any]]:
    return {str(logged["kind"]): logged for logged in record.logged}


def _scores(record: RunRecord, split: str) -> list[str]:
    """The settings are the config's, but for those that a remark names."""
    entry = {name: value for name, value in record.results[split].items() if name != "settings"}
    return [*_lines(entry), *(f"({remark})" for remark in record.remarks(split) if remark not in record.problems)]


def _lines(values: dict[str, Any]) -> list[str]:
    return [f"{name}: {_readable(value)}" for name, value in values.items()]


def _readable(value: Any) -> str:
    """A score with its signature; what holds several values, on one line."""
    if isinstance(value, dict) and number(value, "value") is not None:
        detail = f" = {value['detail']}" if value.get("detail") else ""
        return f"{value['value']:.2f}{detail} [{value.get('signature')}]"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_readable(each)}" for name, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(_readable, value)) or "none"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
