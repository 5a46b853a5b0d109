"""What the runs of Table 3's rows come to: read from their results, and from nowhere else."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from experiments import paper
from experiments.results import read_statistics
from experiments.run_list import Run, RunList
from experiments.weights import param_shapes
from experiments.workdir import WorkdirError
from transformer_jax.config import Experiment
from transformer_jax.metrics.significance import (
    Difference,
    Interval,
    Ratio,
    geometric_mean_interval,
    mean_interval,
    paired_bleu_difference,
    unpaired_ratio,
)


@dataclass(frozen=True)
class RowSummary:
    """One row of Table 3 at one scale, over the seeds that have been run to their end. Fields are None without any."""

    name: str  # "A_h_1"
    paper: paper.Row
    seeds: list[int]  # finished
    unfinished: dict[int, str]  # seed -> "not run", "at step 400 of 1,200", "failed: ..."
    parameters: int  # of our model at this scale, embeddings included
    embedding_parameters: int  # thereof in embedding and position tables
    steps: int
    perplexity: Interval | None  # per piece, dev; the geometric mean
    bleu: Interval | None  # dev
    bleu_from_base: Difference | None  # None for the base row itself, and where base has no finished run
    perplexity_ratio_to_base: Ratio | None  # of geometric means; None likewise
    target_tokens: float | None  # a run, trained on
    seconds: float | None  # a run, wall time of training and scoring
    flops: float | None  # a run's training, counted (not measured): see transformer_jax.analysis.cost


@dataclass(frozen=True)
class TableSummary:
    """All rows that were asked for, and where their numbers come from."""

    rows: list[RowSummary]
    corpus: str  # that was scored, and its size: "builtin:dev (en-de), 500 sentences"
    signature: str  # sacreBLEU's
    command: str  # a line for each command that made runs of it
    provenance: list[str]  # a line for each machine, version or revision that took part


def summarise(names: Sequence[str], seeds: int, runs: RunList) -> TableSummary | None:
    """The rows `names` with seeds 1 to `seeds`, of a list that has all of them; None before any has been finished.

    Base is compared with wherever it has been run, whether or not it was asked for.

    Raises:
      WorkdirError: two runs were scored on different text, with other pieces, or by another metric.
    """
    scored = {run.name: _Scored(run, entry, read_statistics(runs.root / run.name, runs.split))
              for run in runs.runs if (entry := runs.result(run))}  # fmt: skip
    if not scored:
        return None
    first = _require_comparable(list(scored.values()))
    base = [run for name, run in scored.items() if name.startswith("base/")]
    rows = [_row(name, seeds, runs, scored, base) for name in names]
    return TableSummary(
        rows=rows,
        corpus=f"{first['corpus']}, {first['sentences']:,} sentences, {first['settings']['Data.vocab_size']:,} pieces",
        signature=first["bleu"]["signature"],
        command="\n".join(dict.fromkeys(run.entry["command"] for run in scored.values())),
        provenance=_origins([run.entry for run in scored.values()]),
    )


@dataclass(frozen=True)
class _Scored:
    """One finished run: its results, and the BLEU statistics of its translations [sentences, 10]."""

    run: Run
    entry: dict[str, Any]
    statistics: np.ndarray

    @property
    def bleu(self) -> float:
        return self.entry["bleu"]["value"]


def _require_comparable(scored: Sequence[_Scored]) -> dict[str, Any]:
    """What all runs have in common; the first one's entry."""
    first = scored[0]
    for other in scored[1:]:
        for what in ("corpus_sha256", "vocabulary_sha256"):
            if other.entry[what] != first.entry[what]:
                raise WorkdirError(f"{other.run.name} and {first.run.name} cannot be compared: their {what} differ")
        if other.entry["bleu"]["signature"] != first.entry["bleu"]["signature"]:
            raise WorkdirError(
                f"{other.run.name} and {first.run.name} cannot be compared: their BLEU signatures differ"
            )
    return first.entry


def _row(name: str, seeds: int, runs: RunList, scored: dict[str, _Scored], base: list[_Scored]) -> RowSummary:
    own = {seed: f"{name}/seed_{seed}" for seed in range(1, seeds + 1)}
    done = [scored[run] for run in own.values() if run in scored]
    by_name = {run.name: run for run in runs.runs}
    experiment = by_name[own[1]].experiment
    compared = bool(done and base and name != "base")
    return RowSummary(
        name=name,
        paper=paper.TABLE_3[name],
        seeds=[seed for seed, run in own.items() if run in scored],
        unfinished={seed: runs.state(by_name[run]).detail for seed, run in own.items() if run not in scored},
        **_sizes(experiment),
        steps=experiment.training.num_steps,
        perplexity=geometric_mean_interval(_perplexities(done)) if done else None,
        bleu=mean_interval([run.bleu for run in done]) if done else None,
        bleu_from_base=paired_bleu_difference(_stacked(done), _stacked(base)) if compared else None,
        perplexity_ratio_to_base=unpaired_ratio(_perplexities(done), _perplexities(base)) if compared else None,
        target_tokens=_mean(run.entry["training"]["target_tokens"] for run in done),
        seconds=_mean(run.entry["training"]["seconds"] + run.entry["seconds"] for run in done),
        flops=_mean(run.entry["training"]["flops"] for run in done if "flops" in run.entry["training"]),
    )


def _stacked(runs: Sequence[_Scored]) -> np.ndarray:
    return np.stack([run.statistics for run in runs])


def _perplexities(runs: Sequence[_Scored]) -> list[float]:
    return [run.entry["perplexity_per_piece"] for run in runs]


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return sum(listed) / len(listed) if listed else None


def _sizes(experiment: Experiment) -> dict[str, int]:
    leaves = jax.tree_util.tree_leaves_with_path(param_shapes(experiment))
    sizes = {jax.tree_util.keystr(path): leaf.size for path, leaf in leaves}
    tables = sum(size for name, size in sizes.items() if name.endswith("['table']"))
    return {"parameters": sum(sizes.values()), "embedding_parameters": tables}


def _origins(entries: Iterable[dict[str, Any]]) -> list[str]:
    """Where, when and with what code results were made."""
    dates: dict[str, list[str]] = {}
    for entry in entries:
        versions = ", ".join(f"{package} {version}" for package, version in entry["versions"].items())
        origin = f"{entry['machine']}, {entry['devices']}; code {entry['revision']}, {versions}"
        dates.setdefault(origin, []).append(entry["date"][:10])
    return [f"{' to '.join(sorted({min(days), max(days)}))}: {origin}" for origin, days in dates.items()]
