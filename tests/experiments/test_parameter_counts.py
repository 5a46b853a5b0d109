"""Our counts beside the paper's: each is the formula's, and what is claimed of them is what they say."""

import dataclasses
import json
import re

import jax
import jaxtyping
import pytest
from random_params import param_shapes

from experiments import paper
from experiments.ablation import parameter_counts
from experiments.ablation.parameter_counts import FORMULAS, FORMULAS_40960, JUNE_2017, count, parameter_table, render
from experiments.gin_bindings import load_experiment

CONVENTIONS = (FORMULAS, FORMULAS_40960, JUNE_2017)


@pytest.fixture(scope="module")
def table():
    """By row; without the tests' shape checks, which this many models would make slow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jaxtyping.config, "jaxtyping_disable", True)
        return {row.name: row for row in parameter_table()}


@pytest.fixture(scope="module")
def text(table):
    return render(list(table.values()))


def cells_of(name):
    """A row's cells of the table in the paper, blank ones filled in from its base row."""
    return paper.TABLE_3["base"].cells | paper.TABLE_3[name].cells


def by_formula(name, *, pieces, biases, space_rows):
    """Matrices, biases, norms, and one table, from the paper's own symbols."""
    cells = cells_of(name)
    d, f, hk, hv = cells["d_model"], cells["d_ff"], cells["h"] * cells["d_k"], cells["h"] * cells["d_v"]
    attention = 2 * d * hk + 2 * d * hv + (2 * hk + hv + d if biases else 0)
    feed_forward = 2 * d * f + f + d
    encoder = attention + feed_forward + 2 * 2 * d
    decoder = 2 * attention + feed_forward + 3 * 2 * d
    positions = 2 * 512 * d if cells.get("positions") == "learned" else 0
    return cells["N"] * (encoder + decoder) + pieces * d + space_rows * d + positions


def test_the_rows_are_the_paper_s(table):
    assert list(table) == list(paper.TABLE_3)
    assert [row.printed for row in table.values()] == [row.params_millions for row in paper.TABLE_3.values()]


@pytest.mark.parametrize("name", paper.TABLE_3)
def test_every_count_is_the_formula_s(name, table):
    assert table[name].counts == (
        by_formula(name, pieces=37_000, biases=False, space_rows=0),
        by_formula(name, pieces=40_960, biases=False, space_rows=0),
        by_formula(name, pieces=40_960, biases=True, space_rows=32),
    )


@pytest.mark.parametrize("convention", CONVENTIONS, ids=lambda convention: convention.name)
@pytest.mark.parametrize(
    "variant", ["Model.positions = 'learned'", "Model.shared_embedding = False\nModel.pre_norm = True"]
)
def test_a_count_from_one_layer_is_that_of_the_whole_model(convention, variant):
    """Traced in full, with all its layers and its vocabulary, whatever the row says of biases."""
    row = load_experiment([parameter_counts.CONFIGS / "C_d_ff_1024.gin"], ["Model.num_layers = 3", variant]).model
    whole = dataclasses.replace(row, attention_biases=convention.attention_biases)
    shapes = param_shapes(whole, convention.vocab_size)
    traced = sum(leaf.size for leaf in jax.tree.leaves(shapes))
    assert count(row, convention) == traced + convention.target_space_rows * 512


def test_the_counts_are_those_that_were_worked_out_beside_the_paper(table, shared):
    """To the third decimal; there the learned positions, which the paper does not size, are left out."""
    entries = json.loads((shared / "paper" / "tables.json").read_text())["table3"]["rows"]
    for row, entry in zip(table.values(), entries, strict=True):
        positions = 2 * 512 * 512 if row.name == "E_learned_positions" else 0
        for convention, key in ((FORMULAS, "paper_formulas_V37000"), (JUNE_2017, "tensor2tensor_2017_V40960")):
            millions = (row.count(convention) - positions) / 1e6
            assert round(millions, 3) == entry["params_check_millions"][key], row.name


def test_rows_a_and_d_have_the_base_row_s_count(table):
    """h d_k is constant in (A), and (D) changes no shape."""
    same = [row.counts for name, row in table.items() if paper.TABLE_3[name].group in ("A", "D")]
    assert same == [table["base"].counts] * 8


def test_ten_of_eleven_cells_are_equal_as_the_code_counts(table):
    printed = {name: row for name, row in table.items() if row.printed is not None}
    assert len(printed) == 11
    assert [name for name, row in printed.items() if not row.is_equal(JUNE_2017)] == ["big"]
    assert all(abs(row.residual(JUNE_2017)) < 0.5 for name, row in printed.items() if name != "big")
    assert printed["big"].residual(JUNE_2017) == pytest.approx(5.333, abs=5e-4)
    assert printed["big"].percent(JUNE_2017) == pytest.approx(2.5, abs=0.05)


def test_no_cell_is_equal_with_the_vocabulary_that_the_text_states(table):
    printed = {name: row for name, row in table.items() if row.printed is not None}
    assert not any(row.is_equal(FORMULAS) for row in printed.values())
    percents = {name: row.percent(FORMULAS) for name, row in printed.items()}
    assert percents["base"] == pytest.approx(100 * (63.046 - 65) / 65, abs=1e-3)
    assert min(percents, key=percents.get) == "C_N_2"
    assert percents["C_N_2"] == pytest.approx(100 * (33.645 - 36) / 36, abs=2e-3)
    assert percents["big"] == pytest.approx(100 * (214.172 - 213) / 213, abs=1e-3)


def test_a_blank_cell_is_compared_with_nothing(table):
    row = table["A_h_1"]
    assert (row.printed, row.residual(JUNE_2017), row.is_equal(JUNE_2017)) == (None, None, None)
    with pytest.raises(ValueError, match="A_h_1"):
        row.percent(JUNE_2017)


@pytest.mark.parametrize(("larger", "smaller", "printed", "millions"), [
    ("base", "B_d_k_16", 7, 7.078),
    ("C_N_8", "C_N_4", 30, 29.401),
    ("C_d_ff_4096", "C_d_ff_1024", 37, 37.786),
])  # fmt: skip
def test_differences_that_do_not_depend_on_the_vocabulary(larger, smaller, printed, millions, table, text):
    first, second = (table[larger].count(each) - table[smaller].count(each) for each in (FORMULAS, FORMULAS_40960))
    assert first == second
    assert table[larger].printed - table[smaller].printed == printed
    assert round(first / 1e6, 3) == millions
    with_biases = (table[larger].count(JUNE_2017) - table[smaller].count(JUNE_2017)) / 1e6
    assert abs(with_biases - printed) < 1
    assert [f"{larger} minus {smaller}", str(printed), f"{millions:.3f}", f"{with_biases:.3f}", "yes"] in grid(text)


def grid(text):
    """The cells of every line of a Markdown table."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]


def test_the_text_says_what_the_counts_say(text):
    assert "formulas, V = 37,000: 0 of 11 equal after rounding; base 3.0 % low, C_N_2 (the furthest) 6.5 % low" in text
    assert "formulas, V = 40,960: 9 of 11 equal after rounding;" in text
    assert "code of June 2017: 10 of 11 equal after rounding; base 0.2 % high, big (the furthest) 2.5 % high." in text
    assert re.search(r"32\srows\sof\sd_model\scolumns", text)
    assert re.search(r"E_learned_positions\sincludes\s0\.524\sof\sposition\stables", text)


def test_the_text_has_every_row_with_its_residual(text):
    lines = {cells[0]: cells for cells in grid(text)}
    assert lines["row"][2:5] == ["formulas, V = 37,000", "formulas, V = 40,960", "code of June 2017"]
    assert lines["base"] == ["base", "65", "63.046", "65.073", "65.126", "+0.126", "yes"]
    assert lines["C_d_ff_1024"] == ["C_d_ff_1024", "53", "50.450", "52.478", "52.531", "-0.469", "yes"]
    assert lines["big"] == ["big", "213", "214.172", "218.227", "218.333", "+5.333", "no"]
    assert lines["D_eps_ls_0.2"] == ["D_eps_ls_0.2", "", "63.046", "65.073", "65.126", "", ""]
    assert lines["E_learned_positions"] == ["E_learned_positions", "", "63.570", "65.597", "65.651", "", ""]
    assert set(paper.TABLE_3) <= lines.keys()


def test_the_text_is_aligned(text):
    """The bars of a table stand under each other, and it is Markdown: a rule follows the header."""
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if not block.startswith("|"):
            assert all(len(line) <= 120 for line in lines)
            continue
        bars = {tuple(match.start() for match in re.finditer(r"\|", line)) for line in lines}
        assert len(bars) == 1
        assert re.fullmatch(r"\| -+ (\| -+: )+\|", lines[1])
