"""The benchmark of decoding, as text."""

import importlib.metadata
import os
import statistics
from typing import NamedTuple

from benchmarks.ctranslate2_side import Translated, cores
from benchmarks.decode_profile import Compiled
from benchmarks.translate_process import Process
from experiments.markdown import listed, table
from experiments.provenance import provenance


class Measured(NamedTuple):
    """All figures."""

    lines: list[str]
    ours: list[Translated]
    other: list[Translated]
    other_name: str
    seconds: list[tuple[float, float]]  # ours and the other's, pair by pair
    as_paper: list[Translated]
    seconds_as_paper: list[float]
    process: Process
    compiled: Compiled
    by_program: dict[str, float]
    step: tuple[str, dict[str, float]]


def render(measured: Measured) -> str:
    return "\n".join([_speed(measured), _agreement(measured), _process(measured), _profile(measured), _made_by()])


def _speed(measured: Measured) -> str:
    ours, others = ([pair[side] for pair in measured.seconds] for side in (0, 1))
    ratios = [other / own for own, other in measured.seconds]
    rows = [
        _speed_row("this search", measured.ours, ours),
        _speed_row(f"CTranslate2, {measured.other_name}", measured.other, others),
        _speed_row("this search, the paper's penalty and stop rule", measured.as_paper, measured.seconds_as_paper),
    ]
    head = ("median (least to most)", "sentences/s", "target tokens/s")
    return (
        f"{len(measured.lines):,} sentences, beam 4, alpha 0.6, at most source + 50 tokens, float32, {cores()} threads;"
        f" {len(ratios)} times.\n\n"
        f"{table(head, rows)}\n"
        f"Ours to CTranslate2, pair by pair: {_spread(ratios, 2)}.\n"
    )


def _speed_row(name: str, found: list[Translated], seconds: list[float]) -> tuple[str, str, str]:
    tokens = sum(len(translated.ids) + 1 for translated in found)
    return name, _spread([len(found) / s for s in seconds], 1), _spread([tokens / s for s in seconds], 0)


def _spread(values: list[float], digits: int) -> str:
    low, middle, high = (f"{f(values):,.{digits}f}" for f in (min, statistics.median, max))
    return f"{middle} ({low} to {high})"


def _agreement(measured: Measured) -> str:
    """How many translations are the same, and each that is not, with both scores."""
    pairs = list(zip(measured.lines, measured.ours, measured.other, strict=True))
    same = [(own, other) for _, own, other in pairs if own.ids == other.ids]
    most = max((abs(own.score - other.score) for own, other in same), default=0.0)
    lines = [
        f"line {number}, ours {own.score:.6f}, CTranslate2's {other.score:.6f}: {line}"
        for number, (line, own, other) in enumerate(pairs, start=1)
        if own.ids != other.ids
    ]
    share = f"{len(same):,} of {len(pairs):,} sentences ({len(same) / len(pairs):.1%})"
    head = f"The same translation for {share}, with scores that differ by {most:.1e} at most."
    return f"{head} The others:\n\n{listed(lines)}" if lines else f"{head}\n"


def _process(measured: Measured) -> str:
    process, compiled = measured.process, measured.compiled
    shapes = ", ".join(f"{name} {count}" for name, count in compiled.shapes.items())
    rows = [
        ("first line translated, nothing compiled yet", f"{process.cold:.1f} s"),
        ("first line translated, compiled before", f"{process.warm:.1f} s"),
        (f"all {len(measured.lines):,} lines", f"{process.whole:.1f} s"),
        ("most memory", f"{process.memory:.2f} GiB"),
        ("shapes of the search's programs", shapes),
        ("programs compiled or read from the cache", f"{compiled.programs} in {compiled.seconds:.1f} s"),
    ]
    return f"A process of `experiments.translate`, from its start:\n\n{table(('what', 'measured'), rows)}"


def _profile(measured: Measured) -> str:
    total = sum(measured.by_program.values())
    programs = [(name, f"{s:.2f} s", f"{s / total:.1%}") for name, s in measured.by_program.items()]
    description, parts = measured.step
    steps = [(name, f"{milliseconds:.2f} ms") for name, milliseconds in parts.items()]
    return (
        f"Where our time goes, each program waited for:\n\n{table(('program', 'time', 'share'), programs)}\n"
        f"A step in the middle of the commonest batch, {description}; parts compiled alone:\n\n"
        f"{table(('part', 'median'), steps)}"
    )


def _made_by() -> str:
    where = provenance()
    versions = where["versions"] | {"ctranslate2": importlib.metadata.version("ctranslate2")}
    named = ", ".join(f"{package} {versions[package]}" for package in ("jax", "ctranslate2", "numpy"))
    malloc = os.environ.get("GLIBC_TUNABLES", "default")
    return (
        f"```\n{where['command']}\n```\n\n{where['date'][:10]}, {where['machine']}, {where['devices']}; "
        f"code {where['revision']}, {named}; malloc: {malloc}.\n"
    )
