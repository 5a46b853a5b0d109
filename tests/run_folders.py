"""Folders of runs as training and scoring leave them, made up."""

import json
from collections.abc import Iterable
from pathlib import Path

from tiny_experiment import tiny_experiment

from experiments.gin_bindings import resolved, to_gin
from experiments.registry.records import RunRecord

PER_UPDATE = {"pairs_per_update": 3.0, "source_tokens_per_update": 15.0, "target_tokens_per_update": 21.0}


def make_run(path: Path, *, steps=(), dev=(), bleu=None, split="dev", scored_with=None, **changes) -> Path:
    """`steps` were logged, `dev` are losses, `bleu` is scored; `scored_with` and `changes` are settings."""
    experiment = tiny_experiment(**changes)
    path.mkdir(parents=True)
    (path / "config.gin").write_text(to_gin(experiment))
    logged = [{"kind": "train", "step": step, "seconds": 1800.0, **PER_UPDATE} for step in steps]
    logged += [{"kind": "dev", "step": 2, "negative_log_likelihood": loss} for loss in dev]
    if logged:
        (path / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in logged))
        launch = {"command": "train it", "revision": "abc", "date": "2026-01-02T03:04:05+00:00"}
        (path / "launches.jsonl").write_text(json.dumps(launch) + "\n")
    if bleu is not None:
        settings = json.loads(json.dumps(resolved(experiment))) | (scored_with or {})
        (path / "results.json").write_text(json.dumps({split: _entry(bleu, settings, max(steps, default=10))}))
    return path


def _entry(bleu: float, settings: dict, updates: int) -> dict:
    return {
        "bleu": {"value": bleu, "signature": "tok:none|version:9", "detail": "50/40"}, "chrf": {"value": 30.0},
        "perplexity_per_piece": 100 - bleu, "exact_match_percent": 7.5, "corpus_sha256": "c0",
        "vocabulary_sha256": "v0", "training": {"updates": updates}, "settings": settings, "warnings": [],
    }  # fmt: skip


def change_entry(path: Path, **values) -> None:
    """Of the scores on the dev set."""
    results = json.loads((path / "results.json").read_text())
    results["dev"] |= values
    (path / "results.json").write_text(json.dumps(results))


def make_folder(root: Path) -> Path:
    """Two seeds of a wide run and one of a narrow, whose other seed goes on; and one that is only made."""
    make_run(root / "wide" / "seed_2", steps=[4, 10], bleu=22.0, d_ff=64, seed=2)
    make_run(root / "wide" / "seed_10", steps=[4, 10], bleu=20.0, d_ff=64, seed=10)
    make_run(root / "narrow", steps=[4, 10], dev=[2.5, 2.25], bleu=20.5, seed=1)
    make_run(root / "narrow_again", steps=[4], seed=2)
    make_run(root / "new", d_ff=29)
    return root


def names(records: Iterable[RunRecord], root: Path) -> list[str]:
    return [record.path.relative_to(root).as_posix() for record in records]
