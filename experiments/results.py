"""`results.json`: what a run scored, written by programs, with all that a reader needs to believe it."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from experiments.gin_bindings import resolved
from experiments.provenance import provenance
from experiments.workdir import WorkdirError, write_text
from transformer_jax.config import Experiment
from transformer_jax.data.corpus import Corpus
from transformer_jax.evaluation import Evaluation


def summary(
    experiment: Experiment, corpus: Corpus, evaluation: Evaluation, *, steps: list[int], seconds: float
) -> dict[str, Any]:
    """One split's entry."""
    return {
        "perplexity_per_piece": evaluation.perplexity,
        "bleu": dataclasses.asdict(evaluation.bleu),
        "chrf": dataclasses.asdict(evaluation.chrf),
        "exact_match_percent": evaluation.exact_match,
        "sentences": len(corpus),
        "cut_off_at_the_length_limit": evaluation.cut_off,
        "warnings": evaluation.warnings,
        "corpus": corpus.name,
        "corpus_sha256": corpus.fingerprint,
        "checkpoint_steps": steps,
        "seconds": seconds,
        "settings": {name: value for name, value in resolved(experiment).items() if name.startswith(("Dec", "Sco"))},
        **provenance(),
    }


def add_split(workdir: Path, split: str, entry: dict[str, Any]) -> Path:
    """Puts one split's entry into `results.json`, beside those of other splits.

    Raises:
      WorkdirError: the file holds something else.
    """
    path = workdir / "results.json"
    try:
        results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:
        raise WorkdirError(f"{path} is not JSON: move it away and evaluate again") from error
    write_text(path, json.dumps(results | {split: entry}, indent=2, ensure_ascii=False) + "\n")
    return path


def write_translations(workdir: Path, split: str, evaluation: Evaluation, tokens: list[list[str]]) -> Path:
    """The translations as text, a line each, and beside them a JSON line each with tokens and scores."""
    text = workdir / f"translations.{split}.txt"
    write_text(text, "".join(f"{translation.text}\n" for translation in evaluation.translations))
    rows = [
        {"tokens": pieces, **translation.hypothesis._asdict()}
        for pieces, translation in zip(tokens, evaluation.translations, strict=True)
    ]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_text(workdir / f"translations.{split}.jsonl", lines)
    return text
