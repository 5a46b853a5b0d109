"""Two runs' translations of one test set, with what they were scored against."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from experiments.comparison.run import ComparedRun, ComparisonError
from experiments.workdir import read_vocabulary
from transformer_jax.config import Data, Trees
from transformer_jax.data.corpus import Corpus
from transformer_jax.data.prepared import prepare_split
from transformer_jax.metrics.significance import bleu, sentence_statistics


@dataclass(frozen=True)
class TextsOfSplit:
    """The sentences that translations are of."""

    corpus: Corpus
    source_lengths: Int[np.ndarray, "sentences"]  # in pieces of one run's vocabulary, without the end token


@dataclass(frozen=True)
class ScoredText:
    """One run's translations, sentence by sentence."""

    label: str
    translations: list[str]
    statistics: Int[np.ndarray, "sentences 10"]  # `sentence_statistics`
    tokenizer: str  # BLEU's
    cut_off: int  # translations that reached the length limit


def require_same_test(a: ComparedRun, b: ComparedRun) -> None:
    """Both runs' scores, if both have some, are of one test set and one BLEU.

    Raises ComparisonError, which says what they are of.
    """
    if not (a.entry and b.entry):
        return
    for what, ours, theirs in (
        (
            "test sets",
            *(f"{run.entry['corpus']}, SHA-256 {run.entry['corpus_sha256'][:12]}" for run in (a, b) if run.entry),
        ),
        ("kinds of BLEU", *(run.entry["bleu"]["signature"] for run in (a, b) if run.entry)),
    ):
        if ours != theirs:
            raise ComparisonError(
                f"the scores on {a.split} are of two {what} and cannot be compared: A {ours}; B {theirs}"
            )


def read_texts(run: ComparedRun) -> TextsOfSplit:
    """The split that a scored run was scored on.

    Raises:
      CorpusError: it cannot be read.
      ComparisonError: it is not the text any more that the scores are of.
    """
    corpus, encoded = prepare_split(*_scored_from(run), read_vocabulary(run.workdir), run.split)
    if run.entry and corpus.fingerprint != run.entry["corpus_sha256"]:
        raise ComparisonError(
            f"{corpus.name} has changed since {run.label} ({run.workdir}) was scored: evaluate it again"
        )
    return TextsOfSplit(corpus, encoded.source_lengths - 1)


def _scored_from(run: ComparedRun) -> tuple[Data, Trees]:
    """The config's, or what `evaluate` was told instead."""
    return Data(**_settings(run, Data)), Trees(**_settings(run, Trees))


def _settings(run: ComparedRun, cls: Any) -> dict[str, Any]:
    return {field.name: run.settings[f"{cls.__name__}.{field.name}"] for field in dataclasses.fields(cls)}


def scored_text(run: ComparedRun, texts: TextsOfSplit) -> ScoredText:
    """Raises ComparisonError where a run's translations are not those that it scored."""
    entry, translations = run.entry or {}, run.translations or []
    tokenizer = run.settings["Scoring.bleu_tokenizer"]
    statistics = sentence_statistics(translations, texts.corpus.targets, tokenizer=tokenizer)
    if not math.isclose(float(bleu(statistics.sum(0))), entry["bleu"]["value"], abs_tol=1e-6):
        raise ComparisonError(
            f"{run.workdir}: the translations of {run.split} are not those that results.json scores: evaluate it again"
        )
    return ScoredText(run.label, translations, statistics, tokenizer, entry["cut_off_at_the_length_limit"])
