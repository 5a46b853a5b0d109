"""The last pass: shards of text become shards of ids, by as many processes as there are cores."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np
from jaxtyping import Int64

from transformer_jax.data.encoded import encode_sentences
from transformer_jax.data.preparation.folders import whole_folder
from transformer_jax.data.preparation.text_shards import num_pairs, read_texts
from transformer_jax.data.vocabulary import load_vocabulary

SIDES = ("source", "target")


def encode_shards(
    texts: Sequence[Path],
    dropped: Sequence[Int64[np.ndarray, " _"]],
    vocabulary: Path,
    folder: Path,
    on_progress: Callable[[int], None],
) -> None:
    """A shard `ids-...` in `folder` for each of `texts`, without its `dropped` rows; those that are there already stay.

    `on_progress` is told how many pairs have been encoded.
    """
    shards = [folder / text.name.replace("text-", "ids-") for text in texts]
    done = sum(num_pairs(shard) for shard in shards if shard.exists())
    on_progress(done)
    tasks = [task for task in zip(texts, shards, dropped, strict=True) if not task[1].exists()]
    for encoded in _in_processes(tasks, vocabulary) if len(tasks) > 1 else _in_this_one(tasks, vocabulary):
        done += encoded
        on_progress(done)


_Task = tuple[Path, Path, Int64[np.ndarray, " _"]]


def _in_this_one(tasks: Sequence[_Task], vocabulary: Path) -> Iterator[int]:
    return (encode_shard(*task, vocabulary) for task in tasks)


def _in_processes(tasks: Sequence[_Task], vocabulary: Path) -> Iterator[int]:
    # Spawned: a forked copy of a process in which JAX has threads may hang.
    context, workers = multiprocessing.get_context("spawn"), min(len(tasks), _num_cores())
    with ProcessPoolExecutor(workers, context, initializer=_end_with_parent) as pool:
        for done in as_completed([pool.submit(encode_shard, *task, vocabulary) for task in tasks]):
            yield done.result()


def encode_shard(text: Path, shard: Path, dropped: Int64[np.ndarray, " _"], vocabulary: Path) -> int:
    """Encodes both sides of a shard of text into the folder `shard`; returns how many pairs they are."""
    rows = np.delete(np.arange(num_pairs(text)), dropped)
    loaded = load_vocabulary(vocabulary)
    with whole_folder(shard) as temporary:
        for side in SIDES:
            encode_sentences(list(read_texts(text, side, rows)), loaded).save(temporary, side)
    return len(rows)


def _num_cores() -> int:
    """That this process may use, where the system says it."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
