"""Which of the paper's conclusions from Table 3 (section 6.2; on label smoothing, 5.4) hold in the runs there are.

Every claim is of one row against base, on one metric, and on that metric the paper's own two figures bear it out; so
"8 layers are better than 6" is a claim on perplexity alone (4.88 against 4.92; BLEU fell from 25.8 to 25.5).
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from experiments import paper
from experiments.ablation.summary import RowSummary, TableSummary
from experiments.ablation.tables import Metric, comparison_text, distance_text, from_base, missing, paper_from_base
from experiments.markdown import compact_table
from transformer_jax.metrics.significance import Comparison

_PAPER_DIGITS: dict[Metric, int] = {"bleu": 1, "perplexity": 2}
_METRIC_NAMES: dict[Metric, str] = {"bleu": "BLEU", "perplexity": "PPL"}


@dataclass(frozen=True)
class Claim:
    """What the paper says of a row of Table 3, and what that means for the row's metric against base's."""

    words: str
    row: str
    metric: Metric
    expected: Literal["higher", "lower", "same"]
    section: str = "6.2"


@dataclass(frozen=True)
class Verdict:
    """A claim, the paper's figures and ours as text, and what ours say of it."""

    claim: Claim
    warrant: str
    evidence: str
    verdict: str


def _worse(words: str, row: str) -> tuple[Claim, Claim]:
    return Claim(words, row, "bleu", "lower"), Claim(words, row, "perplexity", "higher")


def _better(words: str, row: str) -> tuple[Claim, Claim]:
    return Claim(words, row, "bleu", "higher"), Claim(words, row, "perplexity", "lower")


CLAIMS = (
    *_worse("one head is worse than 8", "A_h_1"),
    *_worse("too many heads are worse: 32 than 8", "A_h_32"),
    *_worse("a smaller d_k hurts: 16 against 64", "B_d_k_16"),
    *_worse("a smaller d_k hurts: 32 against 64", "B_d_k_32"),
    *_worse("bigger is better: 2 layers are worse than 6", "C_N_2"),
    *_worse("bigger is better: 4 layers are worse than 6", "C_N_4"),
    Claim("bigger is better: 8 layers than 6", "C_N_8", "perplexity", "lower"),
    *_worse("bigger is better: d_model 256 is worse than 512", "C_d_model_256"),
    *_better("bigger is better: d_model 1024 than 512", "C_d_model_1024"),
    *_worse("bigger is better: d_ff 1024 is worse than 2048", "C_d_ff_1024"),
    *_better("bigger is better: d_ff 4096 than 2048", "C_d_ff_4096"),
    *_better("bigger is better: the big model than base", "big"),
    *_worse("dropout helps: none is worse than 0.1", "D_P_drop_0.0"),
    Claim("label smoothing improves BLEU: none is worse than 0.1", "D_eps_ls_0.0", "bleu", "lower", "5.4"),
    Claim("label smoothing hurts perplexity: none is better than 0.1", "D_eps_ls_0.0", "perplexity", "lower", "5.4"),
    Claim("learned positions give nearly the same", "E_learned_positions", "bleu", "same"),
    Claim("learned positions give nearly the same", "E_learned_positions", "perplexity", "same"),
)


def conclusions(summary: TableSummary) -> list[Verdict]:
    """A verdict on every claim, in the paper's order."""
    rows = {row.name: row for row in summary.rows}
    return [_judged(claim, rows.get(claim.row), rows.get("base")) for claim in CLAIMS]


def render(verdicts: Sequence[Verdict]) -> str:
    """Markdown: a line for each claim, and how the verdicts are meant."""
    counts = Counter(verdict.verdict.split(" (")[0] for verdict in verdicts)
    tally = ", ".join(f"{text}: {count}" for text, count in counts.items())
    head = ["the paper's claim", "section", "row", "metric", "paper: base, row", "ours, from base", "verdict"]
    table = compact_table(head, map(_cells, verdicts))
    return f"{table}\nOf {len(verdicts)} statements, {tally}.\n\n{_NOTE}\n"


_NOTE = (
    "A verdict is on the scale and the corpus of these runs. Every comparison is of a row with base: BLEU's difference "
    "from it, perplexity's ratio to it (×; of geometric means over seeds, tested as a difference in loss). Two rows "
    "that are not base are not compared. A claim holds where the 95 % interval leaves out equality, which is 0 or ×1, "
    "on the paper's side, and is contradicted where it leaves it out on the other. Sameness cannot be proven: the "
    "interval says how large a difference may still be. Neither intervals nor p-values are corrected for the number of "
    "statements; of 20 rows that are base's equals, about one interval leaves out equality."
)


def _cells(verdict: Verdict) -> list[str]:
    claim = verdict.claim
    metric = _METRIC_NAMES[claim.metric]
    return [claim.words, claim.section, claim.row, metric, verdict.warrant, verdict.evidence, verdict.verdict]


def _judged(claim: Claim, row: RowSummary | None, base: RowSummary | None) -> Verdict:
    ours = from_base(row, claim.metric) if row else None
    text = _verdict(claim.expected, ours)
    if text.startswith("no difference seen") and ours and ours.low is not None and ours.high is not None:
        low, high = (distance_text(bound, claim.metric) for bound in (ours.low, ours.high))
        text += f" (interval {low} to {high})"
    return Verdict(claim, _warrant(claim), _evidence(claim.metric, row, base, ours), text)


def _verdict(expected: str, ours: Comparison | None) -> str:
    """The words alone: what is known of the comparison, against what the paper expects of it."""
    if ours is None:
        return "not run"
    if ours.low is None or ours.high is None or not math.isfinite(ours.high - ours.low):
        return "nothing can be said: no interval"
    above, below = ours.low > ours.equality, ours.high < ours.equality
    caution = "" if ours.seeds_counted else " on these sentences; one seed"
    if expected == "same":
        return ("a difference was seen" if above or below else "no difference seen") + caution
    if not (above or below):
        return "cannot be told apart from noise"
    return ("holds" if above == (expected == "higher") else "contradicted") + caution


def _warrant(claim: Claim) -> str:
    digits = _PAPER_DIGITS[claim.metric]
    row, base = (getattr(paper.TABLE_3[name], claim.metric) for name in (claim.row, "base"))
    distance = distance_text(paper_from_base(paper.TABLE_3[claim.row], claim.metric), claim.metric, digits)
    return f"{base:.{digits}f}, {row:.{digits}f} ({distance})"


def _evidence(metric: Metric, row: RowSummary | None, base: RowSummary | None, ours: Comparison | None) -> str:
    """Our distance from base and the seeds on both sides, or why there is none."""
    if row is None:
        return "not asked for"
    if ours is None:
        return "; ".join(missing(side for side in (base, row) if side and not side.seeds)) or "base: no finished run"
    against = f" against {len(base.seeds)}" if base else ""
    caution = "" if ours.seeds_counted else "; one seed: noise between seeds is not counted"
    return f"{comparison_text(ours, metric)}; seeds: {len(row.seeds)}{against}{caution}"
