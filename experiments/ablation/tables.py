"""Table 3 with ours beside the paper's, as Markdown and as LaTeX.

What has not been run is blank. Two tables, so that either can be read on a page: what the rows score, what they cost.
"""

import itertools
import re
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Literal, NamedTuple

from experiments import paper
from experiments.ablation.summary import RowSummary, TableSummary
from experiments.markdown import compact_table
from transformer_jax.metrics.significance import Comparison, Interval

Metric = Literal["bleu", "perplexity"]
DIGITS: dict[Metric, int] = {"bleu": 2, "perplexity": 3}
_ONE_SEED = "†"
_SYMBOLS = {
    "N": "$N$",
    "d_model": r"$d_{\mathrm{model}}$",
    "d_ff": r"$d_{\mathrm{ff}}$",
    "h": "$h$",
    "d_k": "$d_k$",
    "d_v": "$d_v$",
    "P_drop": r"$P_{\mathrm{drop}}$",
    "eps_ls": r"$\epsilon_{\mathrm{ls}}$",
}
_ESCAPES = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    _ONE_SEED: r"\dag{}",
}


class _Grid(NamedTuple):
    """A table of plain text: its head, and a list of rows for each group of the paper's table."""

    head: list[str]
    groups: list[list[list[str]]]


def markdown(summary: TableSummary) -> str:
    """Both tables, then what their numbers are and where they come from."""
    tables = "\n".join(
        compact_table(grid.head, itertools.chain(*grid.groups))
        for grid in (_quality(summary.rows), _cost(summary.rows))
    )
    notes = "\n\n".join(_notes(summary))
    provenance = "".join(f"- {line}\n" for line in summary.provenance)
    return f"{tables}\n{notes}\n\n```\n{summary.command}\n```\n\n{provenance}"


def latex(summary: TableSummary) -> str:
    r"""Both tables and their notes, for a document with `\usepackage{booktabs}`."""
    grids = [_quality(summary.rows, _SYMBOLS), _cost(summary.rows)]
    tables = "\n\n\\medskip\n".join(_latex_grid(grid) for grid in grids)
    lines = [*_notes(summary), summary.command, *summary.provenance]
    notes = "\n\n".join(escaped(" ".join(line.split())) for line in lines)
    return f"% needs \\usepackage{{booktabs}}\n{{\\footnotesize\n{tables}\n\n\\medskip\n{notes}\\par\n}}\n"


def escaped(text: str) -> str:
    """Plain text for LaTeX's text mode; a hyphen that starts a number becomes a minus, two hyphens stay two."""
    text = re.sub("[" + re.escape("".join(_ESCAPES)) + "]", lambda match: _ESCAPES[match[0]], text)
    return re.sub(r"(?<!\w)-(?=\d)", "$-$", text.replace("--", "-{}-"))


def interval_text(interval: Interval | None, digits: int) -> str:
    """ "4.92 [4.87, 4.97]", the mean alone without an interval, "" without a run."""
    if interval is None:
        return ""
    bounds = "" if interval.low is None else f" [{interval.low:.{digits}f}, {interval.high:.{digits}f}]"
    return f"{interval.mean:.{digits}f}{bounds}"


def comparison_text(ours: Comparison | None, metric: Metric) -> str:
    """ "-0.90 [-1.31, -0.49] p 0.002" for BLEU, "×1.090 [×1.020, ×1.165] p 0.021" for perplexity, as far as known."""
    if ours is None:
        return ""
    low, high, p_value = ours.low, ours.high, ours.p_value
    bounds = "" if low is None or high is None else f" [{distance_text(low, metric)}, {distance_text(high, metric)}]"
    chance = "" if p_value is None else " p < 0.001" if p_value < 0.0005 else f" p {p_value:.3f}"
    return f"{distance_text(ours.value, metric)}{bounds}{chance}"


def distance_text(value: float, metric: Metric, digits: int | None = None) -> str:
    """ "-0.90" for BLEU, a difference; "×1.090" for perplexity, a ratio."""
    digits = DIGITS[metric] if digits is None else digits
    return f"{value:+z.{digits}f}" if metric == "bleu" else f"×{value:.{digits}f}"


def from_base(row: RowSummary, metric: Metric) -> Comparison | None:
    """How far ours is from base: BLEU's difference, perplexity's ratio."""
    return row.bleu_from_base if metric == "bleu" else row.perplexity_ratio_to_base


def paper_from_base(row: paper.Row, metric: Metric) -> float:
    """The same of the paper's figures; BLEU is rounded to the digit that it prints."""
    base = paper.TABLE_3["base"]
    return round(row.bleu - base.bleu, 1) if metric == "bleu" else row.perplexity / base.perplexity


def missing(rows: Iterable[RowSummary]) -> list[str]:
    """ "A_h_1, A_h_4: seed 2 at step 400 of 601, seeds 3, 5 not run" for each set of rows that lack the same."""
    names: dict[str, list[str]] = {}
    for row in rows:
        seeds: dict[str, list[str]] = {}
        for seed, reason in row.unfinished.items():
            seeds.setdefault(" ".join(reason.split()), []).append(str(seed))
        what = (f"{'seeds' if len(which) > 1 else 'seed'} {', '.join(which)} {why}" for why, which in seeds.items())
        names.setdefault(", ".join(what), []).append(row.name)
    return [f"{', '.join(which)}: {what}" for what, which in names.items() if what]


def in_the_papers_order(rows: Iterable[RowSummary]) -> list[RowSummary]:
    return sorted(rows, key=lambda row: list(paper.TABLE_3).index(row.name))


def _grid(head: list[str], rows: Iterable[RowSummary], cells: Callable[[RowSummary], list[str]]) -> _Grid:
    """The first row of a group of several bears the group's letter."""
    groups: dict[str, list[list[str]]] = {}
    for row in in_the_papers_order(rows):
        group = row.paper.group
        letter = "" if group in groups or group in paper.TABLE_3 else f"({group})"
        groups.setdefault(group, []).append([letter, row.name, *cells(row)])
    return _Grid(["", "row", *head], list(groups.values()))


def _quality(rows: list[RowSummary], symbols: dict[str, str] | None = None) -> _Grid:
    head = ["paper's cells", "seeds", "PPL, paper", "PPL, ours", "BLEU, paper", "BLEU, ours"]

    def cells(row: RowSummary) -> list[str]:
        is_base = row.name == "base"
        marked = f" {_ONE_SEED}" if row.bleu_from_base and not row.bleu_from_base.seeds_counted else ""
        return [
            "" if is_base else _changes(row.paper, symbols),
            f"{len(row.seeds)}/{len(row.seeds) + len(row.unfinished)}",
            f"{row.paper.perplexity:.2f}",
            interval_text(row.perplexity, DIGITS["perplexity"]),
            f"{row.paper.bleu:.1f}",
            interval_text(row.bleu, DIGITS["bleu"]),
            "" if is_base else distance_text(paper_from_base(row.paper, "bleu"), "bleu", 1),
            comparison_text(row.bleu_from_base, "bleu") + marked,
        ]

    return _grid([*head, "BLEU from base, paper", "BLEU from base, ours"], rows, cells)


def _cost(rows: list[RowSummary]) -> _Grid:
    head = ["params, paper (millions)", "params, ours", "of these in embeddings", "train steps"]

    def cells(row: RowSummary) -> list[str]:
        return [
            "" if row.paper.params_millions is None else str(row.paper.params_millions),
            f"{row.parameters:,}",
            f"{row.embedding_parameters:,}",
            f"{row.steps:,}",
            "" if row.target_tokens is None else f"{row.target_tokens:,.0f}",
            "" if row.seconds is None else _clock(row.seconds),
            "" if row.flops is None else f"{row.flops:.2e}",
        ]

    return _grid([*head, "target tokens a run", "h:min:s a run", "training FLOPs a run"], rows, cells)


def _changes(row: paper.Row, symbols: dict[str, str] | None = None) -> str:
    """The cells that the paper does not leave blank."""
    values = {name: f"{value:,}" if name == "train steps" else str(value) for name, value in row.cells.items()}
    return ", ".join(f"{(symbols or {}).get(name, name)} {value}" for name, value in values.items())


def _clock(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def _notes(summary: TableSummary) -> list[str]:
    lacking = "; ".join(missing(summary.rows))
    runs = sum(len(row.seeds) for row in summary.rows)
    seconds = sum((row.seconds or 0) * len(row.seeds) for row in summary.rows)
    one_seed = any(row.bleu_from_base and not row.bleu_from_base.seeds_counted for row in summary.rows)
    return [
        "The cells are the paper's own values; a blank one is base's: "
        f"{_changes(paper.TABLE_3['base'])}. Ours may be narrower and shorter: the second table has their sizes.",
        "BLEU is the mean over seeds; PPL (per piece) the geometric mean, which is exp of the mean loss. In brackets, "
        "95 % intervals: of a mean, Student's t over seeds (none for one), for PPL of the loss, then exp; of BLEU from "
        "base, paired bootstrap over sentences plus the variance between seeds. p is two-sided, and not corrected for "
        "the number of rows. Blank: not run, or not printed in the paper.",
        *([f"{_ONE_SEED} One seed, of the row or of base: noise between seeds is not counted."] if one_seed else []),
        f"Scored: {summary.corpus}; {summary.signature}. The paper's: newstest2013, English-German.",
        f"Wall time is of training and scoring: {_clock(seconds)} in all {runs:,} runs, one after another. FLOPs are "
        "counted, not measured.",
        *([f"Missing: {lacking}."] if lacking else []),
    ]


def _latex_grid(grid: _Grid) -> str:
    """Columns of cells that the paper fills are as wide as their text, the one with the paper's cells is broken."""
    wide = [name == "paper's cells" for name in grid.head]
    columns = "".join("p{10em}" if breaks else "l" for breaks in wide)

    def line(cells: list[str]) -> str:
        texts = [rf"\raggedright {cell}" if breaks else escaped(cell) for cell, breaks in zip(cells, wide, strict=True)]
        return " & ".join(texts) + r" \\"

    groups = "\n\\midrule\n".join("\n".join(map(line, group)) for group in grid.groups)
    body = f"\\toprule\n{line(grid.head)}\n\\midrule\n{groups}\n\\bottomrule"
    return f"\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}"
