"""Made-up summaries of Table 3's rows, for the tests of what is written about them."""

import math
import random
from dataclasses import replace
from typing import Any

from experiments import paper
from experiments.ablation.summary import RowSummary, TableSummary
from transformer_jax.metrics.significance import Difference, Interval, Ratio


def not_run(name: str, seeds: int = 3) -> RowSummary:
    return RowSummary(
        name=name,
        paper=paper.TABLE_3[name],
        seeds=[],
        unfinished=dict.fromkeys(range(1, seeds + 1), "not run"),
        parameters=1_104_391,
        embedding_parameters=64_007,
        steps=601,
        perplexity=None,
        bleu=None,
        bleu_from_base=None,
        perplexity_ratio_to_base=None,
        target_tokens=None,
        seconds=None,
        flops=None,
    )


def difference(value: float, half_width: float | None, *, seeds_counted: bool = True) -> Difference:
    """With an interval of `value` plus and minus `half_width`; its p-value is any number that fits."""
    if half_width is None:
        return Difference(value, None, None, None, seeds_counted)
    p_value = 0.0213 if abs(value) > half_width else 0.3457
    return Difference(value, value - half_width, value + half_width, p_value, seeds_counted)


def ratio(value: float, factor: float | None, *, seeds_counted: bool = True) -> Ratio:
    """With an interval of `value` divided and multiplied by `factor`; its p-value is any number that fits."""
    if factor is None:
        return Ratio(value, None, None, None, seeds_counted)
    p_value = 0.0213 if max(value, 1 / value) > factor else 0.3457
    return Ratio(value, value / factor, value * factor, p_value, seeds_counted)


def finished(
    name: str, bleu_from_base: Difference | None, perplexity_ratio_to_base: Ratio | None, **fields: Any
) -> RowSummary:
    """A row of three seeds, this far from a base of BLEU 43.21 and perplexity 3.456."""
    row = replace(
        not_run(name),
        seeds=[1, 2, 3],
        unfinished={},
        perplexity=interval(3.456 * (perplexity_ratio_to_base.value if perplexity_ratio_to_base else 1.0), 0.0625),
        bleu=interval(43.21 + (bleu_from_base.value if bleu_from_base else 0.0), 0.75),
        bleu_from_base=bleu_from_base,
        perplexity_ratio_to_base=perplexity_ratio_to_base,
        target_tokens=912_345.6,
        seconds=3723.4,
        flops=1.2345e15,
    )
    return replace(row, **fields)


def interval(mean: float, half_width: float | None, count: int = 3) -> Interval:
    if half_width is None:
        return Interval(mean, None, None, 1)
    return Interval(mean, mean - half_width, mean + half_width, count)


def random_row(name: str, seed: int, *, spread: float = 1.0) -> RowSummary:
    """Base, or a row some noise off the paper's differences and ratios; `spread` makes them larger."""
    numbers = random.Random(f"{name} {seed}")
    if name == "base":
        return finished("base", None, None)
    theirs, base = paper.TABLE_3[name], paper.TABLE_3["base"]
    bleu = spread * (theirs.bleu - base.bleu) + numbers.gauss(0, 0.2)
    perplexity = (theirs.perplexity / base.perplexity) ** spread * math.exp(numbers.gauss(0, 0.015))
    return finished(
        name,
        difference(bleu, numbers.uniform(0.3, 0.9)),
        ratio(perplexity, numbers.uniform(1.015, 1.06)),
        target_tokens=numbers.uniform(1e5, 1e6),
        seconds=numbers.uniform(1, 9999),
        flops=10 ** numbers.uniform(12, 17),
    )


def table(*rows: RowSummary, **fields: Any) -> TableSummary:
    summary = TableSummary(
        rows=list(rows),
        corpus="builtin:dev (en-de), 500 sentences",
        signature="nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0",
        command="python -m experiments.table3 --gin_file=gin_configs/scale/builtin_eighth.gin --seeds 3",
        provenance=["2026-11-29, AMD EPYC, 2 cores, 1 x cpu; code 5e5ca4e1fa1e, jax 0.10.2"],
    )
    return replace(summary, **fields)


def whole_table(seed: int = 1, *, spread: float = 1.0) -> TableSummary:
    """All twenty rows, run."""
    return table(*(random_row(name, seed, spread=spread) for name in paper.TABLE_3))


def one_seed(name: str) -> RowSummary:
    return finished(
        name,
        difference(-1.1, 0.6, seeds_counted=False),
        ratio(1.0185, None, seeds_counted=False),
        seeds=[2],
        unfinished={1: "failed: loss is nan\nat step 7", 3: "at step 400 of 601"},
        perplexity=interval(3.5199, None),
        bleu=interval(42.11, None),
    )


def mixed_table() -> TableSummary:
    """Rows with three seeds, with one, and with none."""
    return table(random_row("base", 1), one_seed("A_h_4"), random_row("C_N_2", 1), not_run("C_N_8"), not_run("big"))
