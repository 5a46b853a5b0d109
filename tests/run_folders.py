"""Folders of runs as `train` and `evaluate` leave them, made up: nothing is trained."""

import dataclasses
import json
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from tiny_commands import write_corpus
from tiny_experiment import tiny_experiment

from experiments.gin_bindings import load_experiment, resolved, to_gin
from experiments.registry.records import RunRecord
from transformer_jax.config import Experiment
from transformer_jax.data.corpus import Corpus, Reading, read_corpus
from transformer_jax.data.vocabulary import learn_vocabulary
from transformer_jax.metrics.bleu import corpus_bleu, corpus_chrf, exact_match

MADE = {"revision": "abc", "machine": "one", "devices": "1 x cpu", "versions": {"jax": "0.1", "numpy": "2.0"}}
PER_UPDATE = {"pairs_per_update": 3.0, "source_tokens_per_update": 15.0, "target_tokens_per_update": 21.0}
_FIRST = {"step": 50, "loss": 3.0, "seconds": 60.0, "target_tokens_per_update": 7.0, "batches_crc32": 1}
_SECOND = {"step": 80, "loss": 2.0, "seconds": 30.0, "target_tokens_per_update": 11.0, "batches_crc32": 2}
LOG = [
    {"kind": "train", **PER_UPDATE, **_FIRST}, {"kind": "dev", "step": 50, "perplexity": 11.0},
    {"kind": "train", **PER_UPDATE, **_SECOND}, {"kind": "dev", "step": 80, "perplexity": 13.0},
]  # fmt: skip


def write_run(path: Path, experiment: Experiment, log: Sequence[dict], launch: dict, results: dict) -> Path:
    """A run's folder; what is empty, it lacks."""
    path.mkdir(parents=True)
    (path / "config.gin").write_text(to_gin(experiment))
    if log:
        (path / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in log))
    if launch:
        (path / "launches.jsonl").write_text(json.dumps(launch) + "\n")
    if results:
        (path / "results.json").write_text(json.dumps(results))
    return path


def make_run(path: Path, *, steps=(), dev=(), bleu=None, split="dev", scored_with=None, **changes) -> Path:
    """`steps` were logged, `dev` are losses, `bleu` is scored; `scored_with` and `changes` are settings."""
    experiment = tiny_experiment(**changes)
    log = [{"kind": "train", "step": step, "seconds": 1800.0, **PER_UPDATE} for step in steps]
    log += [{"kind": "dev", "step": 2, "negative_log_likelihood": loss} for loss in dev]
    launch = {"command": "train it", "revision": "abc", "date": "2026-01-02T03:04:05+00:00"} if log else {}
    settings = json.loads(json.dumps(resolved(experiment))) | (scored_with or {})
    scores = {} if bleu is None else {split: _made_up(bleu, settings, max(steps, default=10))}
    return write_run(path, experiment, log, launch, scores)


def _made_up(bleu: float, settings: dict, updates: int) -> dict:
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


def write_text(folder: Path) -> Path:
    """A tiny corpus, with its vocabulary beside it; its config is returned."""
    config = write_corpus(folder)
    lines = [line for side in ("en", "de") for line in (folder / f"train.{side}").read_text().splitlines()]
    learn_vocabulary(lines, 71).save(folder / "vocabulary.model")
    return config


def make_translated_run(path, config, *bindings, translate=str, log=LOG, scored=True, made=MADE, **changes) -> Path:
    """A run of a model that translates the test set by changing the references; `changes` are of its scores."""
    experiment = load_experiment([config], bindings)
    corpus = read_corpus("test.tsv", Reading.of(experiment.data, experiment.trees))
    translations = [translate(line) for line in corpus.targets]
    scores = {"test": {**_measured(experiment, corpus, translations), **changes}} if scored else {}
    write_run(path, experiment, log, made, scores)
    shutil.copy(config.parent / "vocabulary.model", path)
    if scored:
        (path / "translations.test.txt").write_text("".join(f"{line}\n" for line in translations))
    return path


def _measured(experiment: Experiment, corpus: Corpus, translations: list[str]) -> dict:
    bleu = corpus_bleu(translations, corpus.targets, tokenizer=experiment.scoring.bleu_tokenizer)
    return {
        "perplexity_per_piece": 5.0, "bleu": dataclasses.asdict(bleu), "warnings": [], "checkpoint_steps": [80],
        "chrf": dataclasses.asdict(corpus_chrf(translations, corpus.targets)), "sentences": len(corpus),
        "exact_match_percent": exact_match(translations, corpus.targets), "cut_off_at_the_length_limit": 0,
        "corpus": corpus.name, "corpus_sha256": corpus.fingerprint, "settings": resolved(experiment), **MADE,
    }  # fmt: skip


def without_last(line: str) -> str:
    return line.rsplit(" ", 1)[0]
