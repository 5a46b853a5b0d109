"""The best runs by a metric. Runs that are equal but for the seed are one: a mean with an interval over seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.gin_bindings import to_gin
from experiments.registry.records import HIGHER_IS_BETTER, PLACES, SEED, RegistryError, RunRecord, same_setting
from experiments.registry.tables import Table, as_written, differing
from experiments.workdir import read_experiment
from transformer_jax.metrics.significance import Interval, geometric_mean_interval, mean_interval

_PERPLEXITY = "perplexity_per_piece"
_MOST_LISTED = 5  # paths in a note
# Numbers can be compared where these are equal, in the results or among the settings.
_SAME = {
    "bleu": ("corpus_sha256", "bleu.signature"),
    "chrf": ("corpus_sha256", "chrf.signature"),
    "exact_match_percent": ("corpus_sha256",),
    "f1": ("corpus_sha256", "bracketing.parameters"),
    _PERPLEXITY: ("corpus_sha256", "vocabulary_sha256"),
    "loss": ("Data.dev", "Data.train", "Data.vocab_size"),
}


@dataclass(frozen=True)
class Repeated:
    """Runs whose settings are equal but for the seed."""

    records: tuple[RunRecord, ...]  # with the metric: one a seed, in the seeds' order
    unscored: tuple[RunRecord, ...]  # without it
    copies: tuple[RunRecord, ...]  # of a seed that is there already: it must not count twice
    interval: Interval  # of the metric, over `records`; a perplexity's mean is geometric


def ranking(records: Sequence[RunRecord], metric: str, split: str) -> list[Repeated]:
    """Repeated runs, the best mean first; those without any run that has the metric are left out.

    Raises:
      RegistryError: no run has the metric, or it is not of this split.
    """
    if metric == "loss" and split != "dev":
        raise RegistryError(f"--split={split}: the loss is logged on the dev set alone")
    groups: dict[Any, list[RunRecord]] = {}
    for record in records:
        groups.setdefault(_settings_key(record, metric, split), []).append(record)
    repeated = [each for group in groups.values() if (each := _repeated(group, metric, split))]
    if not repeated:
        scored = sorted({name for record in records for name in record.results}) or ["no split"]
        raise RegistryError(f"none of {len(records)} runs has {metric} on {split}; scored is {', '.join(scored)}")
    sign = -1 if HIGHER_IS_BETTER[metric] else 1
    return sorted(repeated, key=lambda each: sign * each.interval.mean)


def _settings_key(record: RunRecord, metric: str, split: str) -> Any:
    settings = _settings(record, metric, split)
    equal = sorted((name, same_setting(value)) for name, value in settings.items() if name != SEED)
    return tuple(equal) if record.experiment else record.path


def _settings(record: RunRecord, metric: str, split: str) -> dict[str, Any]:
    """Those that the metric depends on. The loss is the config's, whatever a run was scored with later."""
    settings = record.settings(None if metric == "loss" else split)
    return {name: value for name, value in settings.items() if name not in PLACES}


def _repeated(group: list[RunRecord], metric: str, split: str) -> Repeated | None:
    with_metric = [record for record in group if record.scores(split)[metric] is not None]
    if not with_metric:
        return None
    by_seed: dict[Any, RunRecord] = {}
    for record in with_metric:
        by_seed.setdefault(record.settings(split).get(SEED), record)
    records = tuple(by_seed[seed] for seed in sorted(by_seed, key=lambda seed: (seed is None, seed)))
    values = [value for record in records if (value := record.scores(split)[metric]) is not None]
    return Repeated(
        records,
        unscored=tuple(record for record in group if record not in with_metric),
        copies=tuple(record for record in with_metric if record not in records),
        interval=over_seeds(metric, values),
    )


def over_seeds(metric: str, values: Sequence[float]) -> Interval:
    """The mean of a metric's values, a seed each, and its interval; of perplexities the geometric mean."""
    return geometric_mean_interval(values) if metric == _PERPLEXITY else mean_interval(values)


def ranking_table(repeated: Sequence[Repeated], metric: str, split: str) -> Table:
    """The metric's mean, its 95 % interval and the settings that differ, the best first."""
    settings = [_settings(each.records[0], metric, split) for each in repeated]
    names = differing(settings)
    columns = ["rank", "runs", "seeds", metric, "low", "high", *names]
    rows = []
    for rank, (each, values) in enumerate(zip(repeated, settings, strict=True), 1):
        finished, interval = len(each.records), each.interval
        seeds = f"{finished} of {finished + len(each.unscored)}" if each.unscored else finished
        shown = [as_written(values[name]) if name in values else None for name in names]
        rows.append([rank, _paths(each.records), seeds, interval.mean, interval.low, interval.high, *shown])
    return Table(columns, rows, {"low": metric, "high": metric})


def _paths(records: Sequence[RunRecord]) -> str:
    """ "runs/base/{seed_1,seed_2}" for folders side by side."""
    first, *others = [record.path for record in records]
    if others and all(path.parent == first.parent for path in others):
        return f"{first.parent}/{{{','.join(path.name for path in [first, *others])}}}"
    return " ".join(map(str, [first, *others]))


def notes(repeated: Sequence[Repeated], records: Sequence[RunRecord], metric: str, split: str) -> list[str]:
    """What the ranking's numbers are, what is not among them, and what speaks against comparing them."""
    better = "higher" if HIGHER_IS_BETTER[metric] else "lower"
    ranked = [record.path for each in repeated for record in (*each.records, *each.unscored, *each.copies)]
    copies = [record.path for each in repeated for record in each.copies]
    others = [record.path for record in records if record.path not in ranked]
    kind, of = ("geometric means", " of the logarithms") if metric == _PERPLEXITY else ("means", "")
    return [
        f"{metric} on {split}, {better} is better: {kind} over seeds, with 95 % intervals (Student's t{of}) "
        "from two seeds.",
        *([f"Not counted, of a seed that is there already: {_listed(copies)}."] if copies else []),
        *([f"Not ranked, without {metric} on {split}: {_listed(others)}."] if others else []),
        *(f"WARNING: not comparable: {line}" for line in incomparable(repeated, metric, split)),
    ]


def _listed(paths: Sequence[Path]) -> str:
    more = f" and {len(paths) - _MOST_LISTED} more" if len(paths) > _MOST_LISTED else ""
    return ", ".join(map(str, paths[:_MOST_LISTED])) + more


def incomparable(repeated: Sequence[Repeated], metric: str, split: str) -> list[str]:
    """What must be equal for the numbers to be compared and is not, in a line each. What is not known is not said."""
    lines = []
    for name in _SAME[metric]:
        theirs = [(record.path, _value(record, name, split)) for each in repeated for record in each.records]
        known = [(path, value) for path, value in theirs if value is not None]
        others = [(path, value) for path, value in known if value != known[0][1]]
        if others:
            (one, value), (other, different) = known[0], others[0]
            digits = 12 if name.endswith("sha256") else None
            lines.append(f"{name} is {str(value)[:digits]} in {one}, {str(different)[:digits]} in {other}")
    return lines


def _value(record: RunRecord, name: str, split: str) -> Any:
    if name in record.settings(split):
        return record.settings(split)[name]
    value: Any = record.results.get(split)
    for key in name.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def winner_gin(repeated: Sequence[Repeated], metric: str, split: str) -> str:
    """The best one's config as gin, in full, with the settings that it was scored with and the lowest of its seeds.

    Raises:
      RegistryError: its config cannot be read.
    """
    best = repeated[0].records[0]  # not the best seed: that would be the luckiest one
    if best.experiment is None:
        raise RegistryError(f"{best.path}: {best.problems[0]}")
    settings = _settings(best, metric, split)
    return to_gin(read_experiment(best.path, [], [f"{name} = {value!r}" for name, value in settings.items()]))
