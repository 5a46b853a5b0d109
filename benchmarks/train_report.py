"""The benchmark of training, as text."""

import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.train_memory import MEMORY_LENGTH, MEMORY_ROWS, PAPER_VOCABULARY, StepBytes
from benchmarks.train_peer import cores
from benchmarks.train_side import Turn
from benchmarks.train_start import Start, Wait
from experiments.markdown import table
from experiments.provenance import provenance
from transformer_jax.config import Experiment

_GIGA = 1e9
_GIB = 2**30


class Measured(NamedTuple):
    """All figures of one setting."""

    name: str
    experiment: Experiment
    updates: int  # of a turn
    start: Start
    ours: dict[str, Any]  # the beginnings of both sides: see there
    peer: dict[str, Any] | None
    turns: list[tuple[Turn, Turn | None]]  # ours and the peer's, pair by pair
    seconds_by_part: dict[str, float]


def render(settings: Sequence[Measured], memory: Mapping[str, StepBytes]) -> str:
    """`memory`: of the base model's step, by `Model.rematerialise`."""
    peer = next((own.peer for own in settings if own.peer), None)
    head = "# Speed of training\n\nWritten by `benchmarks.train`: real target tokens a second, padding left out.\n"
    tables = [_machine(peer), _speeds(settings), _details(settings), *([_memory(memory)] if memory else [])]
    parts = [head, *tables, *map(_setting, settings)]
    return "\n".join(parts)


def _machine(peer: dict[str, Any] | None) -> str:
    where = provenance()
    versions = {name: where["versions"][name] for name in ("jax", "flax", "optax", "numpy")}
    versions |= {"torch": peer["version"]} if peer else {}
    named = ", ".join(f"{package} {version}" for package, version in versions.items())
    malloc = os.environ.get("GLIBC_TUNABLES", "default")
    return (
        f"```\n{where['command']}\n```\n\n{where['date'][:10]}, {where['machine']}, {where['devices']}, "
        f"{cores()} threads; code {where['revision']}, {named}; malloc of both sides: {malloc}.\n"
    )


def _speeds(settings: Sequence[Measured]) -> str:
    head = ("median (least to most)", "ours, tokens/s", "PyTorch, tokens/s", "ratio, pair by pair", "utilisation")
    rows = [
        (
            own.name,
            spread(speeds(own, 0), 0),
            spread(speeds(own, 1), 0) if own.peer else "-",
            spread(ratios(own), 2) if own.peer else "-",
            spread(utilisations(own), 1, percent=True),
        )
        for own in settings
    ]
    text = (
        "Utilisation: the matrix products of real tokens, three times the forward pass's, as a share of the peak of a"
        " matrix product measured just before the turn.\n"
    )
    return f"{table(head, rows)}\n{text}"


def _details(settings: Sequence[Measured]) -> str:
    head = ("what", *(own.name for own in settings))
    rows = zip(*(_column(own) for own in settings), strict=True)
    names = (
        *("parameters", "positions of a side in a batch", "shapes", "padding"),
        *(
            f"first update {what}, {when}"
            for when in ("nothing compiled before", "compiled before")
            for what in Wait._fields
        ),
        "an update, once memory is there",
        "all shapes, compiled or read",
        *("most memory of our process", "most memory of PyTorch's process"),
        *("XLA: memory of the step", "the same, all logits at once", "ratio"),
    )
    return table(head, [(name, *row) for name, row in zip(names, rows, strict=True)])


def _column(own: Measured) -> Iterator[str]:
    ours = own.ours
    yield f"{ours['parameters']:,}"
    yield f"{own.experiment.batching.tokens_per_batch:,}"
    yield str(ours["shapes"])
    yield f"{ours['padding']:.1%}"
    for wait in own.start:
        yield from (f"{seconds:.1f} s" for seconds in wait)
    yield f"{statistics.median(turn.seconds for turn in _turns(own, 0)) / own.updates:.1f} s"
    yield f"{ours['compile_seconds']:.1f} s"
    for side in (0, 1):
        sizes = [turn.gib for turn in _turns(own, side)]
        yield f"{max(sizes):.2f} GiB" if sizes else "-"
    yield f"{ours['step_bytes'] / _GIB:.2f} GiB"
    yield f"{ours['dense_step_bytes'] / _GIB:.2f} GiB"
    yield f"{ours['step_bytes'] / ours['dense_step_bytes']:.0%}"


def _memory(memory: Mapping[str, StepBytes]) -> str:
    plain = memory["nothing"].state + memory["nothing"].dense
    rows = [
        (
            choice,
            *(f"{(own.state + needed) / _GIB:.2f} GiB" for needed in (own.chunked, own.dense)),
            f"{(own.state + own.chunked) / (own.state + own.dense):.0%}",
            f"{(own.state + own.chunked) / plain:.0%}",
        )
        for choice, own in memory.items()
    ]
    head = ("`Model.rematerialise`", "our loss, in chunks", "all logits at once", "ratio", "ratio to the plainest step")
    return (
        f"## Memory of an update\n\nThe base model with the paper's vocabulary of {PAPER_VOCABULARY:,}, "
        f"{MEMORY_ROWS} pairs of {MEMORY_LENGTH} tokens a side on each device; parameters, Adam's moments and what the "
        f"step needs beside, by XLA's account. The plainest step holds all logits and computes nothing twice.\n\n"
        f"{table(head, rows)}"
    )


def _setting(own: Measured) -> str:
    """Each turn, and where the time goes."""
    model = own.experiment.model
    title = (
        f"## {own.name}\n\n{model.num_layers} + {model.num_layers} layers, d_model {model.d_model}, d_ff {model.d_ff}, "
        f"{model.num_heads} heads, vocabulary {own.experiment.data.vocab_size:,}, {model.compute_dtype}; "
        f"{own.updates} updates of {own.ours['target_tokens']:,} target tokens in all.\n"
    )
    rows = [
        (f"{number}, {name}", f"{own.ours['target_tokens'] / turn.seconds:,.0f}", f"{turn.peak / _GIGA:,.0f}",
         f"{turn.foreign:.1%}")
        for number, pair in enumerate(own.turns, start=1)
        for name, turn in zip(("ours", "PyTorch"), pair, strict=True) if turn
    ]  # fmt: skip
    turns = table(("turn", "tokens/s", "peak before, GFLOP/s", "processors that others had"), rows)
    total = sum(own.seconds_by_part.values())
    shares = [(part, f"{seconds:.3f} s", f"{seconds / total:.1%}") for part, seconds in own.seconds_by_part.items()]
    table_of_parts = table(("part", "time", "share"), shares)
    profile = f"Where our time goes, of an update of the commonest shape, by its trace:\n\n{table_of_parts}"
    return "\n".join([title, turns, *([_of_peer(own, own.peer)] if own.peer else []), profile])


def _of_peer(own: Measured, peer: dict[str, Any]) -> str:
    by_seconds = sorted(peer["seconds_by_way"].items(), key=lambda item: item[1])
    ways = [(way, f"{seconds:.3f} s") for way, seconds in by_seconds]
    likely = "negative_log_likelihood"
    return (
        f"PyTorch, {peer['threads']} threads, in the way that is fastest: {peer['way']}. Before the first update, a "
        f"token of the first batch costs {own.ours[likely]:.5f} nats with our model, {peer[likely]:.5f} with its. "
        f"An update of the commonest shape, in each way that was tried:\n\n{table(('way', 'best'), ways)}"
    )


def _turns(own: Measured, side: int) -> list[Turn]:
    return [pair[side] for pair in own.turns if pair[side]]  # type: ignore[misc]


def speeds(own: Measured, side: int) -> list[float]:
    """Real target tokens a second, turn by turn."""
    return [own.ours["target_tokens"] / turn.seconds for turn in _turns(own, side)]


def ratios(own: Measured) -> list[float]:
    """Our speed over the peer's."""
    return [ours / peer for ours, peer in zip(speeds(own, 0), speeds(own, 1), strict=True)]


def utilisations(own: Measured) -> list[float]:
    return [own.ours["flops"] / turn.seconds / turn.peak for turn in _turns(own, 0)]


def spread(values: Sequence[float], digits: int, *, percent: bool = False) -> str:
    """The median, the least and the most."""
    kind = "%" if percent else "f"
    low, middle, high = (f"{f(values):,.{digits}{kind}}" for f in (min, statistics.median, max))
    return f"{middle} ({low} to {high})"
