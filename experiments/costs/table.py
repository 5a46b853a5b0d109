"""Table 2 with ours beside the paper's, as Markdown and as CSV."""

import csv
import io
from collections.abc import Sequence
from typing import Any

from experiments.costs.recomputed import LANGUAGES, scientific, verdicts
from experiments.costs.rows import COLUMNS, OurRun, Row, our_row, paper_rows, rows_apart
from experiments.markdown import compact_table, listed

_NOTE = """
BLEU: sacreBLEU's with its signature; the paper's protocol is the one that its authors published, and its scores are to
be compared with no sacreBLEU score. Costs are floating-point operations of the whole training. *Estimated* is the
paper's way, time x devices x peak, whatever was computed in that time: of training alone, without evaluations.
*XLA* is the compiler's count of an update of the mean padded pair, times the updates; *formula* counts the matrix
products of the same pairs without padding (`transformer_jax/analysis/cost.py`). Blank: not run, or not logged.
""".strip()


def markdown(runs: Sequence[OurRun], unscored: Sequence[str], made_by: dict[str, Any]) -> str:
    """The ten systems in either language, our runs, what the numbers are, and where each comes from.

    `made_by` is the table's own provenance.
    """
    rows = paper_rows(runs)
    tables = [f"**{name}**\n\n{_paper_table(name, rows)}" for name in LANGUAGES.values()]
    ours = [f"**Our runs**\n\n{_our_table(runs)}"] if runs else []
    others = [f"Not scored on the test set: {', '.join(unscored)}."] if unscored else []
    made = f"Table: `{made_by['command']}`; {made_by['machine']}; revision {made_by['revision']}; {made_by['date']}"
    sections = [*tables, listed(verdicts()), *ours, _NOTE, *others, *map(_provenance, runs), made]
    return "\n\n".join(section.strip("\n") for section in sections) + "\n"


def csv_text(runs: Sequence[OurRun]) -> str:
    """The ten systems in either language, then our runs, with numbers in full; empty where there is none."""
    rows = [*paper_rows(runs), *(row for run in runs for row in (our_row(run), *rows_apart(run)))]
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _paper_table(languages: str, rows: Sequence[Row]) -> str:
    head = ["system", "BLEU, paper", "BLEU, ours: sacreBLEU", "paper's protocol", "cost, paper", "recomputed",
            "ours: estimated", "XLA", "formula"]  # fmt: skip
    names = ["bleu_paper", "sacrebleu", "paper_bleu", "flops_paper", "flops_recomputed", "flops_estimated", "flops_xla",
             "flops_formula"]  # fmt: skip
    chosen = [row for row in rows if row["languages"] == languages]
    return compact_table(head, [[row["system"], *(_cell(row, name) for name in names)] for row in chosen])


def _our_table(runs: Sequence[OurRun]) -> str:
    head = ["run", "languages", "test set", "sentences", "seed", "sacreBLEU", "paper's protocol", "gap",
            "cost, estimated", "XLA", "formula"]  # fmt: skip
    names = ["languages", "corpus", "sentences", "seed", "sacrebleu", "paper_bleu", "gap", "flops_estimated",
             "flops_xla", "flops_formula"]  # fmt: skip
    rows = [row for run in runs for row in (our_row(run), *rows_apart(run))]
    return compact_table(head, [[row["system"], *(_cell(row, name) for name in names)] for row in rows])


def _cell(row: Row, name: str) -> str:
    value = row.get(name)
    if value is None:
        return ""
    if name == "corpus":
        return str(value).rsplit("/", 1)[-1]  # of two files the targets', without its folder
    if name.startswith("flops_"):
        return scientific(value, 1 if name == "flops_paper" else 2)
    if name == "gap":
        return f"{value:+.2f}"
    if name == "bleu_paper":
        return f"{value:g}"
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _provenance(run: OurRun) -> str:
    """What is known, a line each."""
    row = our_row(run)
    trained = f"{row['updates']:,.0f} updates in {row['seconds'] / 60:,.1f} minutes" if row["seconds"] else None
    lines = {
        "signature": row.get("signature"),
        "label": row.get("paper_bleu_label"),
        "cost, estimated": row["estimated_from"],
        "test set": row["corpus"],
        "seed": row["seed"],
        "trained": trained,
        "checkpoints": row["checkpoint_steps"],
        "machine": f"{row['machine']}, {row['devices']}; revision {row['revision']}; {row['date']}",
        "training": row["training_commands"] and f"`{row['training_commands']}`",
        "scoring": row["command"] and f"`{row['command']}`",
    }
    return f"{run.name}:\n\n{listed(f'{name}: {value}' for name, value in lines.items() if value not in (None, ''))}"
