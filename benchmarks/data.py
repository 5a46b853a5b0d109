"""How fast text becomes batches, and in how much memory: preparation, the plan of an epoch, loading.

python -m benchmarks.data --workdir=runs/bench_data

On a made-up corpus of the size of WMT 2014 English-German, with its sentence lengths and the paper's vocabulary and
batch size. The corpus and what is prepared of it stay in the workdir, so a second call is shorter: it measures all the
same, as what was prepared is removed first. Writes benchmark.md there.
"""

import json
import os
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import jax
import numpy as np

from benchmarks.synthetic_text import write_text
from experiments import command
from experiments.gin_bindings import load_experiment
from experiments.markdown import table
from experiments.provenance import provenance
from experiments.workdir import write_text as write_file
from transformer_jax import parallel
from transformer_jax.config import Experiment
from transformer_jax.data.preparation.training_data import prepare_training_data
from transformer_jax.data.prepared import prepare_data
from transformer_jax.model.transformer import Transformer
from transformer_jax.training.loop import batch_plan
from transformer_jax.training.optimizer import make_optimizer
from transformer_jax.training.step import initial_state, make_train_step

_CONFIGS = Path(__file__).resolve().parents[1] / "gin_configs"
_BATCHES = 300  # loaded, from all over the epoch
_STEPS = 60  # trained


def main() -> None:
    flags = command.Parser(__doc__)
    flags.add_argument("--workdir", type=Path, required=True)
    flags.add_argument("--pairs", type=int, default=4_500_000)
    flags.add_argument("--mean_words", type=float, default=24.0, help="of a source sentence")
    args = flags.parse_args()
    args.workdir.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    paths = write_text(args.workdir, args.pairs, mean_words=args.mean_words)
    print(f"text: {time.monotonic() - started:.0f} s", flush=True)
    experiment = _experiment(args.workdir, paths)
    shutil.rmtree(experiment.data.cache_directory, ignore_errors=True)
    prepared = _in_a_process_of_its_own(_prepare, experiment)
    print(json.dumps(prepared), flush=True)
    loaded = _in_a_process_of_its_own(_plan_and_load, experiment)
    step = _in_a_process_of_its_own(_step, load_experiment([_CONFIGS / "quickstart.gin"]))
    report = _render(args.pairs, args.mean_words, prepared, loaded, step)
    write_file(args.workdir / "benchmark.md", report)
    print(report)


def _experiment(workdir: Path, paths: tuple[Path, Path]) -> Experiment:
    """The paper's, but for the text."""
    base = load_experiment([_CONFIGS / "base.gin"])
    text = tuple(str(path.resolve()) for path in paths)
    data = replace(base.data, train=text, dev=text, test=text, cache_directory=str(workdir.resolve() / "cache"))
    return replace(base, data=data, cleaning=replace(base.cleaning, duplicate=True))


def _in_a_process_of_its_own(measure: Callable[[Experiment], dict[str, Any]], experiment: Experiment) -> dict[str, Any]:
    """So that its memory is its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(measure, experiment).result()


def _prepare(experiment: Experiment) -> dict[str, Any]:
    """Seconds of each pass, and the most memory that this process and the largest of its workers ever had."""
    seconds: dict[str, float] = {}
    last, now, worker_gib = time.monotonic(), "", 0.0

    def note(what: str, *_: object) -> None:  # told at the beginning of a pass, and as it goes
        nonlocal last, now, worker_gib
        moment = time.monotonic()
        worker_gib = max([worker_gib, *map(_most_memory, _children())])
        if now:
            seconds[now] = seconds.get(now, 0.0) + moment - last
        last, now = moment, what

    training = prepare_training_data(experiment.data, experiment.cleaning, experiment.trees, note)
    note("")
    tokens = sum(int(lengths.sum()) for lengths in (training.corpus.source_lengths, training.corpus.target_lengths))
    return {
        "seconds": seconds,
        "tokens": tokens,
        "own_gib": _most_memory("self"),
        "worker_gib": worker_gib,
        "cores": os.cpu_count(),
    }


def _children() -> list[str]:
    """The processes that this one has started and that still run."""
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


def _most_memory(process: str) -> float:
    """GiB that the process had resident at most; the kernel counts from its start on (VmHWM)."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().split("\n")
    except OSError:
        return 0.0  # it has ended
    return next((int(line.split()[1]) / 2**20 for line in lines if line.startswith("VmHWM")), 0.0)


def _step(experiment: Experiment) -> dict[str, Any]:
    """Milliseconds of a training step on this machine, and of making its batch, which the step does not wait for."""
    data = prepare_data(experiment.data, experiment.cleaning, experiment.trees)
    train = data.splits["train"]
    plan, tokens = batch_plan(experiment, train), experiment.batching.tokens_per_device
    model, optimizer = Transformer(experiment.model, data.vocabulary.size), make_optimizer(experiment)
    step = parallel.on_all_devices(
        make_train_step(model, optimizer, experiment.training), donate_state=True, num_shared=1
    )
    state = parallel.replicate(initial_state(model, optimizer, experiment.training.seed))
    seconds = {"batch": 0.0, "step": 0.0}
    for round_ in range(2):  # the first compiles, and warms the cache
        for number in range(_STEPS):
            started = time.monotonic()
            shards = parallel.shard(plan.batch(train, number), tokens_per_device=tokens)
            made = time.monotonic()
            state, _ = step(state, shards, experiment.training.seed)
            jax.block_until_ready(state.step)
            seconds["batch"] += round_ * (made - started)
            seconds["step"] += round_ * (time.monotonic() - made)
    return {name: value / _STEPS * 1e3 for name, value in seconds.items()}


def _plan_and_load(experiment: Experiment) -> dict[str, Any]:
    """On one core; every batch is loaded twice, and the second time, from a warm cache, counts."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {0})
    training = prepare_training_data(experiment.data, experiment.cleaning, experiment.trees, lambda *_: None)
    started = time.monotonic()
    plan = batch_plan(experiment, training.corpus)
    plan.batch_indices(0)
    planned = time.monotonic() - started
    memory = _most_memory("self")
    steps = np.linspace(0, plan.steps_per_epoch - 1, _BATCHES).astype(int).tolist()
    for _ in range(2):
        started = time.monotonic()
        batches = [plan.batch(training.corpus, step) for step in steps]
        loading = time.monotonic() - started
    tokens = sum(int((side != 0).sum()) for batch in batches for side in batch)
    shapes = [plan.batch_shape(step) for step in range(plan.steps_per_epoch)]
    positions = sum(rows * (source + target) for rows, source, target in shapes)
    held = np.concatenate([plan.batch_indices(step) for step in range(plan.steps_per_epoch)])
    real = training.corpus.source_lengths[held].sum() + training.corpus.target_lengths[held].sum()
    return {
        "plan_seconds": planned,
        "plan_gib": memory,
        "loaded_per_second": tokens / loading,
        "milliseconds_per_batch": loading / len(steps) * 1e3,
        "shapes": len(set(shapes)),
        "padding": float(1 - real / positions),
        "tokens_per_side": float(real / 2 / len(shapes)),
        "steps": plan.steps_per_epoch,
    }


def _render(
    pairs: int, mean_words: float, prepared: dict[str, Any], loaded: dict[str, Any], step: dict[str, float]
) -> str:
    seconds = prepared["seconds"]
    memory = f"{prepared['own_gib']:.2f} GiB, and {prepared['worker_gib']:.2f} GiB a worker"
    plan = f"{loaded['plan_seconds']:.1f} s, {loaded['steps']:,} batches, {loaded['plan_gib']:.2f} GiB"
    load = f"{loaded['loaded_per_second']:,.0f} tokens/s, {loaded['milliseconds_per_batch']:.2f} ms a batch"
    made = f"{step['batch']:.2f} ms, {step['step']:.0f} ms: {step['batch'] / step['step']:.2%}"
    rows = [
        *((f"prepare: {what}", f"{seconds[what]:.1f} s, {pairs / seconds[what]:,.0f} pairs/s") for what in seconds),
        ("encode", f"{prepared['tokens'] / seconds['encoding']:,.0f} tokens/s by {prepared['cores']} processes"),
        ("most memory of preparation", memory),
        ("plan of an epoch", plan),
        ("load, one core, warm cache", load),
        ("tokens of a side in a batch", f"{loaded['tokens_per_side']:,.0f} on average"),
        ("distinct shapes", str(loaded["shapes"])),
        ("padding, of both sides' positions", f"{loaded['padding']:.1%}"),
        ("quickstart: a batch, a training step", made),
    ]
    where = provenance()
    versions = ", ".join(f"{package} {where['versions'][package]}" for package in ("sentencepiece", "numpy"))
    return (
        f"{pairs:,} made-up pairs, {mean_words:g} words a source sentence, {prepared['tokens']:,} tokens.\n\n"
        f"{table(('what', 'measured'), rows)}\n```\n{where['command']}\n```\n\n"
        f"{where['date'][:10]}, {where['machine']}; code {where['revision']}, {versions}.\n"
    )


if __name__ == "__main__":
    command.run(main)
