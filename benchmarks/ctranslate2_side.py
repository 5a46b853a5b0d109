"""CTranslate2 as the other side of a comparison: the exported model, the same limits, its fastest settings."""

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ctranslate2

_BATCH_SIZES = (32, 64, 128)  # sentences
_TRIES = 2


class Translated(NamedTuple):
    """The best translation of one source."""

    ids: list[int]  # without the end token
    score: float


class Side(NamedTuple):
    """`read(translate())` gives the translations, in order; `translate` alone is timed."""

    name: str
    translate: Callable[[], Any]
    read: Callable[[Any], list[Translated]]


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def seconds_of(side: Side) -> float:
    started = time.monotonic()
    side.translate()
    return time.monotonic() - started


def fastest(folder: Path, sources: Sequence[Sequence[int]], limits: Sequence[int]) -> Side:
    """The side whose median time is the shortest, of all batch sizes, with all cores on one batch or a batch on each.

    Args:
      sources: ids with the end token.
      limits: tokens at most of each translation, the end token included.
    """
    sides = list(_sides(folder, sources, limits))
    for side in sides:
        side.translate()
    tries = [[seconds_of(side) for side in sides] for _ in range(_TRIES)]
    medians = [statistics.median(own) for own in zip(*tries, strict=True)]
    return min(zip(medians, sides, strict=True), key=lambda pair: pair[0])[1]


def _sides(folder: Path, sources: Sequence[Sequence[int]], limits: Sequence[int]) -> Iterator[Side]:
    for batches_at_once in sorted({1, cores()}):
        threads = {"inter_threads": batches_at_once, "intra_threads": cores() // batches_at_once}
        translator = ctranslate2.Translator(str(folder), device="cpu", compute_type="float32", **threads)
        for size in _BATCH_SIZES:
            yield _side(translator, f"{size} sentences, {batches_at_once} at once", size, folder, sources, limits)


def _side(
    translator: Any, name: str, size: int, folder: Path, sources: Sequence[Sequence[int]], limits: Sequence[int]
) -> Side:
    """Batches of sources of similar length, the longest first. A batch has one limit: its longest source's."""
    tokens = json.loads((folder / "shared_vocabulary.json").read_text(encoding="utf-8"))
    ids = {token: id for id, token in enumerate(tokens)}
    order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
    batches = [order[start : start + size] for start in range(0, len(order), size)]
    inputs = [[[tokens[id] for id in sources[i][:-1]] for i in batch] for batch in batches]
    settings = {"beam_size": 4, "length_penalty": 0.6, "min_decoding_length": 0, "return_scores": True}

    def translate() -> list[Any]:
        waiting = [
            translator.translate_batch(
                own, max_decoding_length=max(limits[i] for i in batch), asynchronous=True, **settings
            )
            for own, batch in zip(inputs, batches, strict=True)
        ]
        return [result.result() for results in waiting for result in results]

    def read(results: list[Any]) -> list[Translated]:
        found: list[Any] = [None] * len(order)
        for i, result in zip((i for batch in batches for i in batch), results, strict=True):
            found[i] = Translated([ids[token] for token in result.hypotheses[0]], result.scores[0])
        return found

    return Side(name, translate, read)
