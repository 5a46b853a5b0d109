"""Table 3 as CSV: nothing is rounded, nothing is lost."""

import csv
import io

from row_summaries import mixed_table

from experiments.ablation import csv_table


def test_csv_parses_back_to_the_exact_values():
    mixed = mixed_table()
    lines = csv.DictReader(io.StringIO(csv_table.csv_text(mixed)))
    for row, line in zip(mixed.rows, lines, strict=True):
        for name, value, fields in (
            ("perplexity_per_piece", row.perplexity, "low high"),
            ("bleu", row.bleu, "mean low high"),
            ("bleu_from_base", row.bleu_from_base, "value low high p_value seeds_counted"),
            ("perplexity_ratio_to_base", row.perplexity_ratio_to_base, "value low high p_value seeds_counted"),
        ):
            for field in fields.split():
                expected = None if value is None else getattr(value, field)
                assert line[f"{name}_{field}"] == ("" if expected is None else repr(expected))
        assert [int(seed) for seed in line["seeds_finished"].split()] == row.seeds
        assert line["seeds_unfinished"] == "; ".join(f"{seed}: {why}" for seed, why in row.unfinished.items())
        for column, expected in (
            ("perplexity_per_piece_geometric_mean", row.perplexity and row.perplexity.mean),
            ("perplexity_ratio_to_base_paper", None if row.name == "base" else row.paper.perplexity / 4.92),
            ("target_tokens_per_run", row.target_tokens),
            ("wall_seconds_per_run", row.seconds),
            ("training_flops_per_run", row.flops),
            ("parameters_paper_millions", row.paper.params_millions),
            ("paper_d_ff", row.paper.cells.get("d_ff")),
            ("paper_train_steps", row.paper.cells.get("train steps")),
        ):
            assert (float(line[column]) if line[column] else None) == expected, column
        assert (line["corpus"], line["signature"]) == (mixed.corpus, mixed.signature)
