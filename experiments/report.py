"""Writes what runs measured into the README, between its marks; a number there has no other way in.

python -m experiments.report runs/quickstart runs/multi30k_tiny
"""

import json
from pathlib import Path
from typing import Any

from experiments import command
from experiments.workdir import WorkdirError, read_experiment, write_text
from transformer_jax.training.metrics_log import read_metrics

_BEGIN, _END = "<!-- results: written by experiments.report -->\n", "<!-- end of results -->\n"


def main() -> None:
    flags = command.Parser(__doc__)
    flags.add_argument("workdirs", nargs="+", type=Path)
    flags.add_argument("--into", type=Path, default=Path("README.md"))
    args = flags.parse_args()
    text = args.into.read_text(encoding="utf-8")
    if text.count(_BEGIN) != 1 or text.count(_END) != 1:
        raise WorkdirError(f"{args.into}: must hold the two marks {_BEGIN.strip()} and {_END.strip()} once each")
    before, rest = text.split(_BEGIN)
    sections = "\n".join(section(workdir) for workdir in args.workdirs)
    write_text(args.into, f"{before}{_BEGIN}\n{sections}\n{_END}{rest.split(_END)[1]}")
    print(f"written: {args.into}")


def section(workdir: Path) -> str:
    """One run's results as Markdown: scores of each split, then how they came about.

    Raises:
      WorkdirError: the run has not been scored yet.
    """
    if not (workdir / "results.json").exists():
        raise WorkdirError(f"{workdir} has no results.json: evaluate the run first")
    results = json.loads((workdir / "results.json").read_text(encoding="utf-8"))
    rows = "".join(_row(split, entry) for split, entry in results.items())
    header = "| split | sentences | BLEU | signature | chrF2 | exact match | perplexity per piece |\n"
    scores = f"**{workdir.name}**\n\n{header}|---|---|---|---|---|---|---|\n{rows}"
    return f"{scores}\n{_training(workdir)}\n\n{_provenance(workdir, results)}\n"


def _row(split: str, entry: dict[str, Any]) -> str:
    signature = entry["bleu"]["signature"].replace("|", r"\|")  # a bare bar would end the table's cell
    bleu, chrf, perplexity = entry["bleu"], entry["chrf"]["value"], entry["perplexity_per_piece"]
    return (
        f"| {split} | {entry['sentences']:,} | **{bleu['value']:.2f}** = {bleu['detail']} | `{signature}` "
        f"| {chrf:.2f} | {entry['exact_match_percent']:.1f} % | {perplexity:.3f} |\n"
    )


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
    return f"```\n{commands}\n```\n\n{where}; code {newest['revision']}, {versions}; {weights}."


if __name__ == "__main__":
    command.run(main)
