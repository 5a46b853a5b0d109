"""The first pass over a training corpus: its text, cleaned, in shards that the later passes read in any order.

Shard k holds what is kept of the k-th so many pairs read. It appears whole or not at all, so the pass goes on after the
last one that is there.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from jaxtyping import Integer

from transformer_jax.config import Cleaning
from transformer_jax.data.preparation.cleaning import RULES, Report, broken_rule, digest
from transformer_jax.data.preparation.folders import whole_folder
from transformer_jax.data.ragged import Ragged

Pair = tuple[str, str]


def write_text_shards(
    pairs_from: Callable[[int], Iterator[Pair]],
    cleaning: Cleaning,
    folder: Path,
    *,
    pairs_per_shard: int,
    on_progress: Callable[[int], None],
) -> Report:
    """Reads `pairs_from(0)` to its end, or goes on from where an earlier call was killed.

    `on_progress` is told how many pairs have been read.
    """
    reports = [_read_report(shard) for shard in text_shards(folder)]
    read = sum(report.read for report in reports)
    on_progress(read)
    pairs = pairs_from(read)
    while chunk := list(islice(pairs, pairs_per_shard)):
        reports.append(_write_shard(chunk, cleaning, folder / f"text-{len(reports):05}"))
        read += len(chunk)
        on_progress(read)
    removed = {rule: sum(report.removed.get(rule, 0) for report in reports) for rule in RULES}
    return Report(read, {rule: count for rule, count in removed.items() if count})


def text_shards(folder: Path) -> list[Path]:
    """In order."""
    return sorted(folder.glob("text-*"))


def num_pairs(shard: Path) -> int:
    return len(Ragged.load(shard, "source"))


def read_texts(shard: Path, side: str, rows: Integer[np.ndarray, " rows"]) -> Iterator[str]:
    """The sentences of a shard's "source" or "target" side, in `rows`, in their order."""
    texts = Ragged.load(shard, side)
    return (texts[i].tobytes().decode() for i in rows.tolist())


def read_digests(shard: Path) -> np.ndarray:
    """Of each pair, as two uint64."""
    return np.load(shard / "digests.npy", mmap_mode="r")


def _write_shard(pairs: Iterable[Pair], cleaning: Cleaning, shard: Path) -> Report:
    kept, removed, read = [], Counter[str](), 0
    for pair in pairs:
        read += 1
        if rule := broken_rule(*pair, cleaning):
            removed[rule] += 1
        else:
            kept.append(pair)
    report = Report(read, {rule: removed[rule] for rule in RULES if removed[rule]})
    with whole_folder(shard) as temporary:
        for name, side in zip(("source", "target"), zip(*kept, strict=True) if kept else ((), ()), strict=True):
            _ragged_text(side).save(temporary, name)
        if cleaning.duplicate:
            digests = b"".join(digest(*pair) for pair in kept)
            np.save(temporary / "digests.npy", np.frombuffer(digests, np.uint64).reshape(-1, 2))
        (temporary / "report.json").write_text(json.dumps(vars(report)), encoding="utf-8")
    return report


def _read_report(shard: Path) -> Report:
    return Report(**json.loads((shard / "report.json").read_text(encoding="utf-8")))


def _ragged_text(texts: Iterable[str]) -> Ragged:
    encoded = [text.encode() for text in texts]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return Ragged(np.frombuffer(b"".join(encoded), np.uint8), offsets)
