"""One run's results as Markdown."""

import json
from pathlib import Path
from typing import Any

from experiments.markdown import compact_table, listed
from experiments.registry.files import json_object
from experiments.workdir import WorkdirError, read_experiment
from transformer_jax.training.metrics_log import read_metrics

_HEAD = ("split", "sentences", "BLEU", "signature", "BLEU, paper's protocol", "chrF2", "exact match",
         "perplexity per piece")  # fmt: skip


def headline(workdir: Path) -> str:
    """Scores of each split, in a line."""
    return "; ".join(_score(split, entry) for split, entry in _results(workdir).items())


def _score(split: str, entry: dict[str, Any]) -> str:
    bleu = entry["bleu"]
    perplexity = f"perplexity per piece {entry['perplexity_per_piece']:.3f}"
    return f"{split}: BLEU **{bleu['value']:.2f}** (`{bleu['signature']}`), {perplexity}"


def section(workdir: Path) -> str:
    """Scores of each split, then how they came about."""
    results = _results(workdir)
    scores = compact_table(_HEAD, (row for split, entry in results.items() for row in _rows(split, entry)))
    labels = dict.fromkeys(entry["paper_bleu"]["signature"] for entry in results.values() if "paper_bleu" in entry)
    parts = [scores, listed(f"BLEU, paper's protocol: {label}" for label in labels), f"{_training(workdir)}\n"]
    return "\n".join(filter(None, [*parts, _provenance(workdir, results)]))


def _results(workdir: Path) -> dict[str, Any]:
    problems: list[str] = []
    results = json_object(workdir / "results.json", problems)
    if problems:
        raise WorkdirError(f"{workdir}/{problems[0]}")
    return results


def _rows(split: str, entry: dict[str, Any]) -> list[list[str]]:
    """A split's row, and one below it for those of its sentences that are scored apart."""
    row = _row(split, entry, f"{entry['exact_match_percent']:.1f} %", f"{entry['perplexity_per_piece']:.3f}")
    apart = entry.get("rows")
    return [row, _row(f"{split}, {Path(apart['file']).name}", apart, "", "")] if apart else [row]


def _row(name: str, entry: dict[str, Any], exact_match: str, perplexity: str) -> list[str]:
    bleu, ours = entry["bleu"], entry.get("paper_bleu")
    return [
        name,
        f"{entry['sentences']:,}",
        f"**{bleu['value']:.2f}** = {bleu['detail']}",
        f"`{bleu['signature']}`",
        f"{ours['value']:.2f}" if ours else "",
        f"{entry['chrf']['value']:.2f}",
        exact_match,
        perplexity,
    ]


def _training(workdir: Path) -> str:
    experiment = read_experiment(workdir, [], [])
    records = [record for record in read_metrics(workdir / "metrics.jsonl") if record["kind"] == "train"]
    minutes = sum(record["seconds"] for record in records) / 60
    speeds = sorted(record["target_tokens_per_second"] for record in records)
    last = records[-1]
    return (
        f"Seed {experiment.training.seed}; {last['step']:,} of at most {experiment.training.num_steps:,} updates "
        f"({last['epoch']:.1f} epochs, {last['target_tokens_per_update']:,.0f} target tokens each), "
        f"{minutes:.1f} minutes in updates at {speeds[len(speeds) // 2]:,.0f} target tokens/s (median), "
        f"last learning rate {last['learning_rate']:.2e}."
    )


def _provenance(workdir: Path, results: dict[str, Any]) -> str:
    launches = [json.loads(line) for line in (workdir / "launches.jsonl").read_text(encoding="utf-8").splitlines()]
    entries = [launches[-1], *results.values()]
    commands = "\n".join(dict.fromkeys(entry["command"] for entry in entries))
    newest = entries[-1]
    versions = ", ".join(f"{package} {version}" for package, version in newest["versions"].items())
    steps = ", ".join(map(str, newest["checkpoint_steps"]))
    where = f"{newest['date'][:10]}, {newest['machine']}, {newest['devices']}"
    weights = f"weights: mean of the checkpoints of steps {steps}"
    return f"```\n{commands}\n```\n\n{where}; code {newest['revision']}, {versions}; {weights}.\n"
