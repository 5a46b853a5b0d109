"""Writes what runs measured into the README, between its marks; a number there has no other way in.

python -m experiments.report runs/quickstart runs/multi30k_tiny runs/table3_builtin_eighth

A folder of Table 3's rows becomes a table, with its picture and a page of conclusions in `docs` beside the README; a
benchmark's folder, what it measured.
"""

import json
import shutil
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
    docs = args.into.parent / "docs"
    sections = "\n".join(_section(workdir, docs) for workdir in args.workdirs)
    write_text(args.into, f"{before}{_BEGIN}\n{sections}\n{_END}{rest.split(_END)[1]}")
    print(f"written: {args.into}")


def _section(workdir: Path, docs: Path) -> str:
    if (workdir / "table3.md").exists():
        return table_section(workdir, docs)
    if (workdir / "benchmark.md").exists():
        return f"**{workdir.name}**\n\n{(workdir / 'benchmark.md').read_text(encoding='utf-8')}"
    return run_section(workdir)


def table_section(workdir: Path, docs: Path) -> str:
    """Table 3's rows at one scale as Markdown; the picture and the conclusions are copied to `docs`."""
    docs.mkdir(exist_ok=True)
    name = workdir.name
    shutil.copyfile(workdir / "table3.png", docs / f"{name}.png")
    conclusions = (workdir / "table3_conclusions.md").read_text(encoding="utf-8")
    write_text(docs / f"{name}_conclusions.md", f"# Which of the paper's conclusions hold in {name}\n\n{conclusions}")
    tally = next(line for line in conclusions.split("\n") if line.startswith("Of "))
    table = (workdir / "table3.md").read_text(encoding="utf-8")
    return (
        f"**{name}**\n\n{table}\n![Every row's distance from base, ours and the paper's](docs/{name}.png)\n\n"
        f"[Which of the paper's conclusions hold in these runs](docs/{name}_conclusions.md): {tally}\n"
    )


def run_section(workdir: Path) -> str:
    """One run's results as Markdown: scores of each split, then how they came about.

    Raises:
      WorkdirError: the run has not been scored yet.
    """
    if not (workdir / "results.json").exists():
        raise WorkdirError(f"{workdir} has no results.json: evaluate the run first")
    results = json.loads((workdir / "results.json").read_text(encoding="utf-8"))
    rows = "".join(_rows(split, entry) for split, entry in results.items())
    header = "| split | sentences | BLEU | signature | chrF2 | exact match | perplexity per piece |\n"
    scores = f"**{workdir.name}**\n\n{header}|---|---|---|---|---|---|---|\n{rows}"
    return f"{scores}\n{_training(workdir)}\n\n{_provenance(workdir, results)}\n"


def _rows(split: str, entry: dict[str, Any]) -> str:
    """A split's row, and one below it for those of its sentences that are scored apart."""
    row = _row(split, entry, f"{entry['exact_match_percent']:.1f} %", f"{entry['perplexity_per_piece']:.3f}")
    if apart := entry.get("rows"):
        row += _row(f"{split}, {Path(apart['file']).name}", apart, "", "")
    return row


def _row(name: str, entry: dict[str, Any], exact_match: str, perplexity: str) -> str:
    bleu, chrf = entry["bleu"], entry["chrf"]["value"]
    signature = bleu["signature"].replace("|", r"\|")  # a bare bar would end the table's cell
    return (
        f"| {name} | {entry['sentences']:,} | **{bleu['value']:.2f}** = {bleu['detail']} | `{signature}` "
        f"| {chrf:.2f} | {exact_match} | {perplexity} |\n"
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
