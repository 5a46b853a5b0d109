"""`results.json`: what a run scored, written by programs, with all that a reader needs to believe it."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from experiments.gin_bindings import resolved
from experiments.provenance import provenance
from experiments.workdir import WorkdirError, write_text
from transformer_jax.analysis.cost import training_flops
from transformer_jax.config import Experiment
from transformer_jax.data.corpus import Corpus
from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.evaluation import Evaluation
from transformer_jax.metrics.paper_bleu import paper_bleu
from transformer_jax.training.metrics_log import read_metrics


def summary(
    workdir: Path,
    experiment: Experiment,
    vocabulary: Vocabulary,
    corpus: Corpus,
    evaluation: Evaluation,
    *,
    steps: list[int],
    seconds: float,
) -> dict[str, Any]:
    """One split's entry; `seconds` is what loading, translating and scoring took."""
    return {
        "perplexity_per_piece": evaluation.perplexity,
        "bleu": dataclasses.asdict(evaluation.bleu),
        **paper_bleu_entry(experiment, [each.text for each in evaluation.translations], corpus.targets),
        "chrf": dataclasses.asdict(evaluation.chrf),
        "exact_match_percent": evaluation.exact_match,
        "sentences": len(corpus),
        "cut_off_at_the_length_limit": evaluation.cut_off,
        "search_errors": evaluation.search.errors,
        "length_ratio": evaluation.search.length_ratio,
        "length_ratio_by_source_length": [group._asdict() for group in evaluation.search.length_ratios],
        "warnings": evaluation.warnings,
        "corpus": corpus.name,
        "corpus_sha256": corpus.fingerprint,
        "vocabulary_sha256": vocabulary.fingerprint,
        "checkpoint_steps": steps,
        "seconds": seconds,
        "training": training_summary(workdir, experiment),
        "settings": resolved(experiment),
        **provenance(),
    }


def paper_bleu_entry(
    experiment: Experiment, hypotheses: Sequence[str], references: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """{"paper_bleu": BLEU by the paper's protocol}; results of before this was measured lack it."""
    tokenised = experiment.scoring.bleu_tokenizer == "none"
    language = None if tokenised else experiment.data.target_language
    return {"paper_bleu": dataclasses.asdict(paper_bleu(hypotheses, references, language=language))}


def training_summary(workdir: Path, experiment: Experiment) -> dict[str, float]:
    """What the log says of the updates made so far: how many, on how many tokens, in what time, at what cost.

    The floating-point operations are counted, not measured, and of pairs without padding, all of mean length. What an
    older version of the code did not log is left out, and what follows from it.
    """
    records = [record for record in read_metrics(workdir / "metrics.jsonl") if record["kind"] == "train"]
    steps = [0, *(record["step"] for record in records)]
    updates = np.diff(steps)
    totals = {"updates": float(steps[-1]), "seconds": float(sum(record["seconds"] for record in records))}
    for name in ("pairs", "source_tokens", "target_tokens"):
        per_update = [record[f"{name}_per_update"] for record in records if f"{name}_per_update" in record]
        if len(per_update) == len(records):
            totals[name] = float(updates @ np.array(per_update))
    if totals.keys() >= {"pairs", "source_tokens", "target_tokens"}:
        totals["flops"] = _flops(experiment, totals)
    return totals


def _flops(experiment: Experiment, totals: dict[str, float]) -> float:
    pairs = max(totals["pairs"], 1)
    a_pair = training_flops(
        experiment.model,
        experiment.data.vocab_size,
        source=totals["source_tokens"] / pairs,
        target=totals["target_tokens"] / pairs,
    )
    return pairs * a_pair


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


def write_translations(
    workdir: Path,
    split: str,
    evaluation: Evaluation,
    tokens: list[list[str]],
    statistics: Int[np.ndarray, "sentences 10"],
) -> Path:
    """The translations as text, a line each, and beside them a JSON line each with tokens, scores and BLEU statistics.

    With the statistics (see `metrics.significance`) two runs can be compared sentence by sentence, references unseen.
    """
    text = workdir / f"translations.{split}.txt"
    write_text(text, "".join(f"{translation.text}\n" for translation in evaluation.translations))
    rows = [
        {"tokens": pieces, **translation.hypothesis._asdict(), "bleu_statistics": counts}
        for pieces, translation, counts in zip(tokens, evaluation.translations, statistics.tolist(), strict=True)
    ]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    write_text(workdir / f"translations.{split}.jsonl", lines)
    return text


def read_statistics(workdir: Path, split: str) -> Int[np.ndarray, "sentences 10"]:
    """The BLEU statistics of a run's translations.

    Raises:
      WorkdirError: they are not there, or not what `write_translations` wrote.
    """
    path = workdir / f"translations.{split}.jsonl"
    try:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        return np.array([json.loads(line)["bleu_statistics"] for line in lines], np.int64).reshape(-1, 10)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorkdirError(f"{path} cannot be read: score the run again") from error
