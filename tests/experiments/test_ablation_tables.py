"""Table 3 as text: every number that is printed is the summary's, and what was not run is blank."""

import csv
import io
import random
import re
import string
from dataclasses import replace

import pytest
from matplotlib.mathtext import MathTextParser
from row_summaries import difference, finished, interval, mixed_table, ratio, table, whole_table

from experiments import paper
from experiments.ablation import csv_table, tables
from experiments.ablation.summary import TableSummary

QUALITY, COST = 0, 1
NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]\d+)?")
# Head of a column -> the numbers of the row that it prints, in order; made-up rows that are finished have 3 seeds of 3.
PRINTED = {
    "PPL, ours": lambda row: [row.perplexity.mean, row.perplexity.low, row.perplexity.high],
    "BLEU, ours": lambda row: [row.bleu.mean, row.bleu.low, row.bleu.high],
    "BLEU from base, ours": lambda row: (
        row.bleu_from_base
        and [row.bleu_from_base.value, row.bleu_from_base.low, row.bleu_from_base.high, row.bleu_from_base.p_value]
    ),
    "PPL, paper": lambda row: [paper.TABLE_3[row.name].perplexity],
    "BLEU, paper": lambda row: [paper.TABLE_3[row.name].bleu],
    "BLEU from base, paper": lambda row: row.name != "base" and [paper.TABLE_3[row.name].bleu - 25.8],
    "seeds": lambda _: [3, 3],
    "params, paper (millions)": lambda row: [paper.TABLE_3[row.name].params_millions],
    "params, ours": lambda row: [row.parameters],
    "of these in embeddings": lambda row: [row.embedding_parameters],
    "train steps": lambda row: [row.steps],
    "target tokens a run": lambda row: [row.target_tokens],
    "training FLOPs a run": lambda row: [row.flops],
}
OURS = {
    "PPL, ours",
    "BLEU, ours",
    "BLEU from base, ours",
    "target tokens a run",
    "h:min:s a run",
    "training FLOPs a run",
}


def read_markdown(text: str) -> list[list[dict[str, str]]]:
    """Each table as a list of lines: head -> cell."""
    found = []
    for block in re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE):
        lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in block.strip().split("\n")]
        assert set(lines[1]) == {"---"}
        found.append([dict(zip(lines[0], line, strict=True)) for line in lines[2:]])
    return found


def unit(number: str) -> float:
    """Of the last digit that is printed: 0.01 of 1.25, 1e13 of 1.25e15."""
    digits, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))


@pytest.fixture(scope="module")
def mixed() -> TableSummary:
    return mixed_table()


@pytest.mark.parametrize("seed", range(5))
def test_every_number_is_one_of_the_summary_rounded(seed):
    summary = whole_table(seed)
    quality, cost = read_markdown(tables.markdown(summary))
    for row, *lines in zip(summary.rows, quality, cost, strict=True):
        cells = lines[QUALITY] | lines[COST]
        for head, numbers_of in PRINTED.items():
            printed, numbers = NUMBER.findall(cells[head]), numbers_of(row) or []
            numbers = [number for number in numbers if number is not None]
            assert len(printed) == len(numbers), (row.name, head)
            for text, number in zip(printed, numbers, strict=True):
                assert abs(float(text.replace(",", "")) - number) <= 0.501 * unit(text), (row.name, head)


def test_a_row_by_hand():
    row = finished("A_h_1", difference(-0.9, 0.406), ratio(1.03, 1.02), bleu=interval(42.304, 0.75))
    (quality,), (cost,) = read_markdown(tables.markdown(table(row)))
    assert list(quality.values()) == [
        "(A)", "A_h_1", "h 1, d_k 512, d_v 512", "3/3", "5.29", "3.560 [3.497, 3.622]", "24.9", "42.30 [41.55, 43.05]",
        "-0.9", "-0.90 [-1.31, -0.49] p 0.021",
    ]  # fmt: skip
    assert list(cost.values()) == [
        "(A)", "A_h_1", "", "1,104,391", "64,007", "601", "912,346", "1:02:03", "1.23e+15"
    ]  # fmt: skip


def test_what_was_not_run_is_blank_and_the_paper_still_stands(mixed):
    for lines in zip(*read_markdown(tables.markdown(mixed)), strict=True):
        cells = lines[QUALITY] | lines[COST]
        blank = {"C_N_8": OURS, "big": OURS, "base": {"BLEU from base, ours"}}.get(cells["row"], set())
        assert {head for head in OURS if not cells[head]} == blank
        assert cells["PPL, paper"] == f"{paper.TABLE_3[cells['row']].perplexity:.2f}"
        assert cells["train steps"] == "601"


def test_rows_stand_in_the_papers_order_and_its_groups():
    summary = whole_table()
    random.Random(1).shuffle(summary.rows)
    for lines in read_markdown(tables.markdown(summary)):
        assert [line["row"] for line in lines] == list(paper.TABLE_3)
        assert [line["row"] for line in lines if line[""]] == [
            "A_h_1", "B_d_k_16", "C_N_2", "D_P_drop_0.0", "E_learned_positions"
        ]  # fmt: skip
    assert [line["row"] for line in csv.DictReader(io.StringIO(csv_table.csv_text(summary)))] == list(paper.TABLE_3)


def test_the_papers_cells_are_shown_and_blank_ones_are_not():
    cells = {line["row"]: line["paper's cells"] for line in read_markdown(tables.markdown(whole_table()))[QUALITY]}
    assert cells["base"] == ""
    assert cells["C_d_model_256"] == "d_model 256, d_k 32, d_v 32"
    assert cells["D_eps_ls_0.0"] == "eps_ls 0.0"
    assert cells["E_learned_positions"] == "positions learned"
    assert cells["big"] == "N 6, d_model 1024, d_ff 4096, h 16, P_drop 0.3, train steps 300,000"


def test_a_single_seed_is_marked_and_nothing_else_is(mixed):
    text = tables.markdown(mixed)
    (quality, _) = read_markdown(text)
    assert [line["row"] for line in quality if "†" in "".join(line.values())] == ["A_h_4"]
    assert quality[1]["BLEU from base, ours"] == "-1.10 [-1.70, -0.50] p 0.021 †"
    assert quality[1]["BLEU, ours"] == "42.11"  # no interval over one seed
    assert "\n† One seed" in text
    assert "†" not in tables.markdown(whole_table())


def test_what_is_missing_is_said(mixed):
    lacking = [
        "A_h_4: seed 1 failed: loss is nan at step 7, seed 3 at step 400 of 601",
        "C_N_8, big: seeds 1, 2, 3 not run",
    ]
    assert tables.missing(mixed.rows) == lacking
    assert f"\nMissing: {'; '.join(lacking)}.\n" in tables.markdown(mixed)
    assert "Missing" not in tables.markdown(whole_table())


def test_numbers_do_not_travel_without_their_origin(mixed):
    for text in (tables.markdown(mixed), tables.latex(mixed).replace("\\textbar{}", "|").replace("-{}-", "--")):
        for said in (mixed.corpus, mixed.signature, mixed.command, *mixed.provenance):
            assert said in text.replace("\\_", "_")


@pytest.mark.parametrize(
    ("p_value", "text"),
    [(0.0, "p < 0.001"), (0.00049, "p < 0.001"), (0.0005, "p 0.001"), (0.0494, "p 0.049"), (1.0, "p 1.000")],
)
def test_p_values_are_never_nought(p_value, text):
    assert tables.comparison_text(replace(difference(0.125, 1.0), p_value=p_value), "bleu").endswith(f"] {text}")


def test_differences_have_a_sign_and_nought_has_one():
    assert tables.comparison_text(difference(-0.001, None), "bleu") == "+0.00"
    assert tables.comparison_text(difference(1.25, 2.5), "bleu") == "+1.25 [-1.25, +3.75] p 0.346"
    assert tables.comparison_text(None, "bleu") == tables.interval_text(None, 2) == ""


def test_ratios_are_marked_as_such():
    assert tables.comparison_text(ratio(1.25, 2.0), "perplexity") == "×1.250 [×0.625, ×2.500] p 0.346"
    assert tables.comparison_text(ratio(0.5, None), "perplexity") == "×0.500"


def test_the_papers_distances_by_hand():
    """Of base's 25.8 and 4.92."""
    assert tables.paper_from_base(paper.TABLE_3["big"], "bleu") == 0.6
    assert tables.paper_from_base(paper.TABLE_3["big"], "perplexity") == pytest.approx(0.8801, abs=5e-5)


def test_latex_is_balanced_and_every_line_has_every_cell(mixed):
    text = tables.latex(mixed)
    bare = re.sub(r"\\.", "", text)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert re.findall(r"\\(begin|end)\{tabular\}", text) == ["begin", "end"] * 2
    assert set(re.findall(r"\\([A-Za-z]+)", text)) <= {
        "usepackage", "footnotesize", "begin", "end", "toprule", "midrule", "bottomrule", "raggedright", "medskip",
        "par", "mathrm", "epsilon", "textbar", "dag", "textless",
    }  # fmt: skip
    for columns, body in re.findall(r"\\begin\{tabular\}\{([^\n]*)\}\n(.*?)\\end\{tabular\}", text, re.DOTALL):
        lines = [line for line in body.strip().split("\n") if not line.endswith("rule")]
        assert len(lines) == 1 + len(mixed.rows)
        for line in lines:
            assert line.endswith(r" \\")
            assert line.count("&") + 1 == len(columns.replace("p{10em}", "p"))


def test_the_papers_symbols_are_formulas():
    text = tables.latex(whole_table())
    formulas = set(re.findall(r"\$[^$]+\$", text)) - {"$-$"}
    symbols = {"N", "h", "d_k", "d_v", r"d_{\mathrm{model}}", r"d_{\mathrm{ff}}"}
    assert formulas == {f"${s}$" for s in symbols | {r"P_{\mathrm{drop}}", r"\epsilon_{\mathrm{ls}}"}}
    parser = MathTextParser("path")
    for formula in formulas:
        parser.parse(formula)


@pytest.mark.parametrize(
    ("plain", "latex"),
    [
        ("A_h_1 & 5 % of {x}#$", r"A\_h\_1 \& 5 \% of \{x\}\#\$"),
        ("a\\b~c^d", r"a\textbackslash{}b\textasciitilde{}c\textasciicircum{}d"),
        ("x|y <z>", r"x\textbar{}y \textless{}z\textgreater{}"),
        ("-0.90 [-1.31, +0.49]", "$-$0.90 [$-$1.31, +0.49]"),
        ("m --seeds 3 en-de 2026-11-29 1e-05", "m -{}-seeds 3 en-de 2026-11-29 1e-05"),
    ],
)
def test_escapes_by_hand(plain, latex):
    assert tables.escaped(plain) == latex


@pytest.mark.parametrize("seed", range(50))
def test_no_special_character_is_left(seed):
    plain = "".join(random.Random(seed).choices(string.printable[:95], k=60))
    left = re.sub(r"\$-\$|\\text[a-z]+\{\}|\\[&%$#_{}]|-\{\}-", "", tables.escaped(plain))
    assert not set(left) & set("\\&%$#_{}~^<>|")


def test_the_wall_time_of_all_runs_is_told():
    """Two rows of three runs at 3,723.4 s, one of which has one run left."""
    rows = [
        finished("base", None, None),
        replace(finished("C_N_2", None, None), seeds=[1, 3], unfinished={2: "not run"}),
    ]
    assert "training and scoring: 5:10:17 in all 5 runs" in tables.markdown(table(*rows))
