"""What a run logged and scored, as points over its updates; which curves there are, and in which panel each stands."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from experiments.registry.records import RunRecord, number
from experiments.registry.tables import Table
from experiments.workdir import WorkdirError

Points = list[tuple[int, float]]  # (step, value); NaN where a value is not finite, so that a line has a gap there
_MOST_LIKELIHOOD = 700.0  # exp of more is no float


class Panel(NamedTuple):
    """Curves of one quantity."""

    name: str
    curves: Mapping[str, Callable[[RunRecord], Points]]  # by name; each in a style of its own
    log: bool = False
    comparable: Callable[[RunRecord], Mapping[str, Any]] = lambda _: {}  # equal in all runs, or they are of two kinds


def last_words(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records of one kind, without those of updates that were made again later; their steps increase."""
    kept: list[dict[str, Any]] = []
    for record in reversed(records):
        if not kept or record["step"] < kept[-1]["step"]:
            kept.append(record)
    return kept[::-1]


def _logged(kind: str, field: str, of: Callable[[float], float] = float) -> Callable[[RunRecord], Points]:
    def points(record: RunRecord) -> Points:
        found = last_words([each for each in record.logged if each["kind"] == kind and field in each])
        return [(each["step"], math.nan if (value := number(each, field)) is None else of(value)) for each in found]

    return points


def _bleu(split: str) -> Callable[[RunRecord], Points]:
    """One point at most, over the last of the updates whose weights were scored."""

    def points(record: RunRecord) -> Points:
        entry = record.results.get(split, {})
        value, steps = number(entry, "bleu", "value"), entry.get("checkpoint_steps")
        if value is None:
            return []
        last = max(steps) if steps else number(entry, "training", "updates") or record.totals.get("updates", 0)
        return [(int(last), value)]

    return points


def _perplexity(likelihood: float) -> float:
    return math.exp(likelihood) if likelihood < _MOST_LIKELIHOOD else math.nan


def _settings(*names: str) -> Callable[[RunRecord], Mapping[str, Any]]:
    return lambda record: {name: value for name, value in record.settings().items() if name in names}


def _bleu_is_of(record: RunRecord) -> Mapping[str, Any]:
    """What BLEU was computed of and how, of each split that was scored."""
    scored = [(split, entry) for split, entry in record.results.items() if number(entry, "bleu", "value") is not None]
    return {f"{split} set": entry.get("corpus") for split, entry in scored} | {
        f"{split} signature": entry["bleu"].get("signature") for split, entry in scored
    }


PANELS = (
    Panel(
        "training loss, nats per target token",
        {"loss": _logged("train", "loss")},
        comparable=_settings("Training.label_smoothing", "Data.vocab_size"),
    ),
    Panel(
        "perplexity per piece",
        {
            "training perplexity": _logged("train", "negative_log_likelihood", _perplexity),
            "dev perplexity": _logged("dev", "perplexity"),
        },
        log=True,
        comparable=_settings("Data.vocab_size", "Data.dev"),
    ),
    Panel(
        "BLEU",
        {"dev BLEU": _bleu("dev"), "test BLEU": _bleu("test")},
        comparable=_bleu_is_of,
    ),
    Panel("learning rate", {"learning rate": _logged("train", "learning_rate")}),
    Panel("norm of the gradient", {"gradient norm": _logged("train", "gradient_norm")}),
    Panel("target tokens per second", {"tokens per second": _logged("train", "target_tokens_per_second")}),
)


def table(runs: Mapping[str, RunRecord]) -> Table:
    """All points of runs, by their labels: a row each, None where a value is not finite."""
    rows = [
        [label, name, step, value if math.isfinite(value) else None]
        for label, record in runs.items()
        for panel in PANELS
        for name, curve in panel.curves.items()
        for step, value in curve(record)
    ]
    if not rows:
        raise WorkdirError(f"nothing to draw: no update was logged and nothing scored in {', '.join(runs)}")
    return Table(["run", "curve", "step", "value"], rows)


def different(panel: Panel, runs: Mapping[str, RunRecord]) -> str:
    """ "Data.vocab_size" where the runs' curves are of several kinds; "" where they can be compared."""
    seen: dict[str, set[str]] = defaultdict(set)
    for record in runs.values():
        for name, value in panel.comparable(record).items():
            seen[name].add(repr(value))
    return ", ".join(name for name, values in seen.items() if len(values) > 1)
