"""What is said of the paper's conclusions is what the intervals say, and no more."""

import math
import random
import re

import pytest
from row_summaries import difference, finished, not_run, random_row, ratio, table, whole_table

from experiments import paper
from experiments.ablation.conclusions import CLAIMS, Claim, conclusions, render
from transformer_jax.metrics.significance import Comparison

NOISE, UNSAID = "cannot be told apart from noise", "nothing can be said: no interval"
ONE_SEED = " on these sentences; one seed"


def judged(row: str, metric: str, ours: Comparison | None) -> tuple[str, str]:
    """Verdict and evidence on the claim of a row on a metric, where all else is unknown."""
    summary = finished(row, *((ours, None) if metric == "bleu" else (None, ours)))
    (verdict,) = [
        verdict
        for verdict in conclusions(table(random_row("base", 1), summary))
        if (verdict.claim.row, verdict.claim.metric) == (row, metric)
    ]
    return verdict.verdict, verdict.evidence


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.row} {claim.metric}")
def test_the_papers_figures_bear_out_its_claims(claim):
    row, base = (getattr(paper.TABLE_3[name], claim.metric) for name in (claim.row, "base"))
    if claim.expected == "same":
        assert abs(row - base) < 0.11
    else:
        assert (row > base) == (claim.expected == "higher")
        assert row != base


def test_worse_is_less_bleu_and_more_perplexity():
    """And so with better; smoothing alone is said to do both, 8 layers are better in perplexity alone."""
    for row in {claim.row for claim in CLAIMS}:
        expected = {claim.metric: claim.expected for claim in CLAIMS if claim.row == row}
        if row == "D_eps_ls_0.0":
            assert expected == {"bleu": "lower", "perplexity": "lower"}
        elif row == "C_N_8":
            assert expected == {"perplexity": "lower"}
        else:
            assert set(expected.values()) in ({"higher", "lower"}, {"same"})
            assert list(expected) == ["bleu", "perplexity"]


def test_claims_are_on_rows_that_the_paper_draws_conclusions_from():
    silent = {"base", "A_h_4", "A_h_16", "D_P_drop_0.2", "D_eps_ls_0.2"}
    assert {claim.row for claim in CLAIMS} == paper.TABLE_3.keys() - silent
    assert len({(claim.row, claim.metric) for claim in CLAIMS}) == len(CLAIMS) == 29


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.row[:2] in ("A_", "B_", "C_")])
def test_the_words_name_the_rows_value_and_bases(claim):
    (column, value), *_ = paper.TABLE_3[claim.row].cells.items()
    said = re.findall(r"\d+", claim.words.replace("one head", "1 head"))
    assert sorted(map(int, said)) == sorted([value, paper.TABLE_3["base"].cells[column]])


@pytest.mark.parametrize(
    ("row", "value", "half_width", "verdict"),
    [
        ("A_h_1", -0.9, 0.5, "holds"),
        ("A_h_1", 0.9, 0.5, "contradicted"),
        ("A_h_1", -0.5, 0.5, NOISE),  # an interval that ends at 0 holds it
        ("A_h_1", 0.3, 0.5, NOISE),
        ("A_h_1", 0.0, 0.0, NOISE),
        ("A_h_1", -0.9, None, UNSAID),
        ("A_h_1", -0.9, math.inf, UNSAID),
        ("big", 0.9, 0.5, "holds"),
        ("D_eps_ls_0.0", -0.5, 0.25, "holds"),
        ("E_learned_positions", -0.125, 0.25, "no difference seen (interval -0.38 to +0.12)"),
        ("E_learned_positions", 0.5, 0.25, "a difference was seen"),
        ("E_learned_positions", -0.5, 0.25, "a difference was seen"),
        ("E_learned_positions", 0.0, None, UNSAID),
    ],
)
def test_verdicts_on_bleu_by_hand(row, value, half_width, verdict):
    assert judged(row, "bleu", difference(value, half_width))[0] == verdict


@pytest.mark.parametrize(
    ("row", "value", "factor", "verdict"),
    [
        ("A_h_1", 1.25, 1.125, "holds"),
        ("A_h_1", 0.75, 1.125, "contradicted"),  # above 0, below 1
        ("A_h_1", 1.25, 1.25, NOISE),  # an interval that ends at 1 holds it
        ("A_h_1", 0.5, 3.0, NOISE),
        ("A_h_1", 1.0, 1.0, NOISE),
        ("A_h_1", 1.25, None, UNSAID),
        ("A_h_1", 1.25, math.inf, UNSAID),
        ("big", 0.5, 1.5, "holds"),
        ("D_eps_ls_0.0", 0.5, 1.5, "holds"),
        ("D_eps_ls_0.0", 2.0, 1.5, "contradicted"),
        ("E_learned_positions", 1.125, 1.25, "no difference seen (interval ×0.900 to ×1.406)"),
        ("E_learned_positions", 0.5, 1.25, "a difference was seen"),
    ],
)
def test_verdicts_on_perplexity_by_hand(row, value, factor, verdict):
    assert judged(row, "perplexity", ratio(value, factor))[0] == verdict


@pytest.mark.parametrize(
    ("row", "value", "verdict"),
    [
        ("A_h_1", -0.9, "holds" + ONE_SEED),
        ("A_h_1", 0.9, "contradicted" + ONE_SEED),
        ("A_h_1", 0.1, NOISE),
        ("E_learned_positions", 0.0, f"no difference seen{ONE_SEED} (interval -0.50 to +0.50)"),
        ("E_learned_positions", 0.75, "a difference was seen" + ONE_SEED),
    ],
)
def test_one_seed_says_less(row, value, verdict):
    text, evidence = judged(row, "bleu", difference(value, 0.5, seeds_counted=False))
    assert text == verdict
    assert evidence.endswith("; one seed: noise between seeds is not counted")
    assert "one seed" not in judged(row, "bleu", difference(value, 0.5))[1]


@pytest.mark.parametrize("seed", range(20))
def test_the_opposite_swaps_holds_and_contradicted(seed):
    numbers = random.Random(seed)
    claim = numbers.choice([claim for claim in CLAIMS if claim.expected != "same"])
    log, half_width, seeds_counted = numbers.gauss(0, 1), abs(numbers.gauss(0, 1)), numbers.random() < 0.5
    if claim.metric == "bleu":
        both = [difference(value, half_width, seeds_counted=seeds_counted) for value in (log, -log)]
    else:
        both = [ratio(math.exp(value), math.exp(half_width), seeds_counted=seeds_counted) for value in (log, -log)]
    first, second = (judged(claim.row, claim.metric, each)[0].partition(" on ")[0] for each in both)
    assert {first, second} == ({"holds", "contradicted"} if abs(log) > half_width else {NOISE})


def test_what_was_not_run_is_said():
    summary = table(random_row("base", 1), not_run("A_h_1"), random_row("big", 1))
    by_row = {verdict.claim.row: verdict for verdict in conclusions(summary)}
    assert (by_row["A_h_1"].verdict, by_row["A_h_1"].evidence) == ("not run", "A_h_1: seeds 1, 2, 3 not run")
    assert (by_row["C_N_2"].verdict, by_row["C_N_2"].evidence) == ("not run", "not asked for")
    assert by_row["big"].verdict not in ("not run", UNSAID)
    orphan = {verdict.claim.row: verdict for verdict in conclusions(table(finished("big", None, None)))}["big"]
    assert (orphan.verdict, orphan.evidence) == ("not run", "base: no finished run")


def test_base_may_have_been_run_without_being_asked_for():
    row = finished("A_h_1", difference(-0.9, 0.5), ratio(1.25, 1.25))
    bleu, perplexity, *_ = conclusions(table(row))
    assert bleu.claim == Claim("one head is worse than 8", "A_h_1", "bleu", "lower", "6.2")
    assert (bleu.verdict, bleu.evidence) == ("holds", "-0.90 [-1.40, -0.40] p 0.021; seeds: 3")
    assert (perplexity.verdict, perplexity.evidence) == (NOISE, "×1.250 [×1.000, ×1.562] p 0.346; seeds: 3")


def test_a_line_for_each_claim_and_a_tally_that_adds_up():
    verdicts = conclusions(whole_table())
    text = render(verdicts)
    lines = [line.split(" | ") for line in text.split("\n") if line.startswith("| ")][2:]
    assert [line[-1].removesuffix(" |") for line in lines] == [verdict.verdict for verdict in verdicts]
    assert {len(line) for line in lines} == {7}
    assert lines[0][:5] == ["| one head is worse than 8", "6.2", "A_h_1", "BLEU", "25.8, 24.9 (-0.9)"]
    assert lines[1][:5] == ["| one head is worse than 8", "6.2", "A_h_1", "PPL", "4.92, 5.29 (×1.08)"]
    tally = re.search(r"\nOf 29 statements, (.*)\.\n", text)[1]
    counts = dict(part.rsplit(": ", 1) for part in tally.split(", "))
    assert sum(map(int, counts.values())) == 29
    assert int(counts["holds"]) == sum(verdict.verdict == "holds" for verdict in verdicts) > 0


def test_tables_that_are_empty_have_verdicts_too():
    assert {verdict.verdict for verdict in conclusions(table())} == {"not run"}
