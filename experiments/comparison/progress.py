"""How far two runs are, and whether they went the same way."""

from collections.abc import Callable

from experiments.comparison.run import ComparedRun
from experiments.markdown import listed, table
from transformer_jax.training.metrics_log import Record


def progress_section(a: ComparedRun, b: ComparedRun) -> str:
    """Updates, tokens, time and dev perplexity so far, as Markdown; then what is missing, and what is the same."""
    rows: dict[str, Callable[[ComparedRun], str]] = {
        "updates": lambda run: f"{_took(run, 'updates') or '0'} of {run.settings['Training.num_steps']:,}",
        "target tokens": lambda run: _took(run, "target_tokens"),
        "minutes in updates": lambda run: _took(run, "seconds", unit=60, digits=1),
        "dev perplexity, last": lambda run: _perplexity(_dev(run)[-1:]),
        "dev perplexity, lowest": lambda run: _perplexity(sorted(_dev(run), key=lambda record: record["perplexity"])),
    }
    grid = table(["", "A", "B"], [[name, cell(a), cell(b)] for name, cell in rows.items()])
    failed = [f"{run.label} failed: {run.record.failure}" for run in (a, b) if run.record.failure]
    return "\n".join(filter(None, [grid, listed([*failed, *a.missing, *b.missing, *_same_way(a, b)])]))


def _took(run: ComparedRun, name: str, *, unit: int = 1, digits: int = 0) -> str:
    """Of all its training, in `unit`s; "" where that is not known."""
    value = run.record.totals.get(name)
    return "" if value is None else f"{value / unit:,.{digits}f}"


def _dev(run: ComparedRun) -> list[Record]:
    return [record for record in run.record.logged if record["kind"] == "dev"]


def _perplexity(records: list[Record]) -> str:
    """That of the first."""
    return f"{records[0]['perplexity']:.3f} at {records[0]['step']:,}" if records else "none logged"


def _same_way(a: ComparedRun, b: ComparedRun) -> list[str]:
    """Up to where batches and losses are the same, by the records that both logged of the same updates."""
    ours, theirs = _windows(a), _windows(b)
    common = [(ours[window], theirs[window]) for window in ours if window in theirs]
    if not common:
        return []
    return [
        f"{what}: {_same_until(common, field)}"
        for what, field in (("batches", "batches_crc32"), ("training losses", "loss"))
    ]


def _windows(run: ComparedRun) -> dict[tuple[int, int], Record]:
    """(the step before the first update, the last update's step) -> the record of them."""
    records = [record for record in run.record.logged if record["kind"] == "train"]
    starts = [0, *(record["step"] for record in records)]
    return {(start, record["step"]): record for start, record in zip(starts, records, strict=False)}


def _same_until(common: list[tuple[Record, Record]], field: str) -> str:
    last = common[-1][0]["step"]
    differing = (mine["step"] for mine, other in common if mine.get(field) != other.get(field))
    step = next(differing, None)
    return f"the same up to step {last:,}" if step is None else f"they first differ in the record of step {step:,}"
