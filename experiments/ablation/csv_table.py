"""Table 3 with ours beside the paper's, as CSV in full precision."""

import csv
import io
from typing import Any

from experiments import paper
from experiments.ablation.summary import RowSummary, TableSummary
from experiments.ablation.tables import in_the_papers_order, paper_from_base
from transformer_jax.metrics.significance import Comparison, Interval


def csv_text(summary: TableSummary) -> str:
    """A line for each row of the table, every float in full; empty where there is no number. p-values are two-sided.

    BLEU's means are compared with base as a difference, perplexity's, which are geometric, as a ratio.
    """
    source = {"corpus": summary.corpus, "signature": summary.signature}
    records = [_record(row) | source for row in in_the_papers_order(summary.rows)]
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def _record(row: RowSummary) -> dict[str, Any]:
    """A row's line of the CSV: column -> value, None where there is none."""
    ours, bounds = row.paper, ["low", "high"]
    tested = ["value", *bounds, "p_value", "seeds_counted"]
    return {
        "row": row.name,
        "group": ours.group,
        **{f"paper_{column.replace(' ', '_')}": ours.cells.get(column) for column in paper.TABLE_3_COLUMNS},
        "seeds_finished": " ".join(map(str, row.seeds)),
        "seeds_unfinished": "; ".join(f"{seed}: {reason}" for seed, reason in row.unfinished.items()),
        "perplexity_per_piece_paper": ours.perplexity,
        "perplexity_per_piece_geometric_mean": None if row.perplexity is None else row.perplexity.mean,
        **_columns("perplexity_per_piece", row.perplexity, bounds),
        "bleu_paper": ours.bleu,
        **_columns("bleu", row.bleu, ["mean", *bounds]),
        "bleu_from_base_paper": None if row.name == "base" else paper_from_base(ours, "bleu"),
        **_columns("bleu_from_base", row.bleu_from_base, tested),
        "perplexity_ratio_to_base_paper": None if row.name == "base" else paper_from_base(ours, "perplexity"),
        **_columns("perplexity_ratio_to_base", row.perplexity_ratio_to_base, tested),
        "parameters_paper_millions": ours.params_millions,
        "parameters": row.parameters,
        "embedding_parameters": row.embedding_parameters,
        "steps": row.steps,
        "target_tokens_per_run": row.target_tokens,
        "wall_seconds_per_run": row.seconds,
        "training_flops_per_run": row.flops,
    }


def _columns(name: str, value: Interval | Comparison | None, fields: list[str]) -> dict[str, Any]:
    return {f"{name}_{field}": None if value is None else getattr(value, field) for field in fields}
