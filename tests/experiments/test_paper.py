"""The paper's figures: typed in once more than once, and the same in every place."""

import json
import re
from pathlib import Path

import pytest

from experiments import paper

PROJECT_ROOT = Path(__file__).resolve().parents[2]
CONFIGS = PROJECT_ROOT / "gin_configs"


@pytest.fixture(scope="module")
def tables():
    """Every cell, typed in by someone else and compared with the paper's source."""
    path = PROJECT_ROOT.parent / "shared" / "paper" / "tables.json"
    if not path.exists():
        pytest.skip("needs the paper's tables beside the checkout")
    return json.loads(path.read_text(encoding="utf-8"))


def test_table_1_is_the_paper_s_cell_by_cell(tables):
    """And what section 4 says of convolutions whose kernels have no gaps."""
    entries = {entry["layer_type"]: entry for entry in tables["table1"]["rows"]}
    assert {name: {"layer_type": name, **vars(row)} for name, row in paper.TABLE_1.items()} == entries
    (contiguous,) = [
        entry["layers_needed_to_connect_all_positions"]
        for entry in tables["table1"]["said_in_the_text_not_in_the_table"]
        if "contiguous" in entry.get("layer_type", "")
    ]
    assert contiguous == paper.PATH_OF_CONTIGUOUS_CONVOLUTIONS


def test_table_3_is_the_paper_s_cell_by_cell(tables):
    """Rows in the paper's order, blank cells blank; of (E) the words across the columns."""
    entries = tables["table3"]["rows"]
    assert len(paper.TABLE_3) == len(entries) == 20
    for (name, row), entry in zip(paper.TABLE_3.items(), entries, strict=True):
        columns = {column: entry[column.replace(" ", "_")] for column in paper.TABLE_3_COLUMNS if column != "positions"}
        cells = {column: value for column, value in columns.items() if value is not None}
        if entry["effective"]["positions"] == "learned":
            cells["positions"] = "learned"
        assert list(row.cells.items()) == list(cells.items()), name
        assert row.group == entry["group"], name
        assert (row.perplexity, row.bleu) == (entry["ppl_dev"], entry["bleu_dev"]), name
        assert row.params_millions == entry["params_millions"], name


def test_table_2_is_the_paper_s_cell_by_cell(tables):
    entries = {entry["model"]: entry for entry in tables["table2"]["rows"]}
    assert list(paper.TABLE_2) == list(entries)
    for name, system in paper.TABLE_2.items():
        assert vars(system) == {cell: entries[name][cell] for cell in vars(system)}, name
    english_french_big = tables["table2"]["version_differences"][0]
    assert english_french_big["nips_2017_proceedings"] == paper.BLEU_EN_FR_BIG_IN_THE_PROCEEDINGS
    assert paper.TABLE_2["Transformer (big)"].bleu_en_fr == english_french_big["arxiv_v5_and_later_table_and_abstract"]


def test_table_4_is_the_paper_s_cell_by_cell(tables):
    """Rows in the paper's order; the two that are its own model's."""
    entries = tables["table4"]["rows"]
    assert [(row.name, row.training, row.f1) for row in paper.TABLE_4] == [
        (entry["parser"], entry["training"], entry["wsj23_f1"]) for entry in entries
    ]
    ours = [row for row, entry in zip(paper.TABLE_4, entries, strict=True) if entry.get("this_paper")]
    assert list(paper.TABLE_4_OURS.values()) == ours


@pytest.mark.parametrize(("name", "cells", "perplexity", "bleu", "params"), [
    ("A_h_4", {"h": 4, "d_k": 128, "d_v": 128}, 5.00, 25.5, None),
    ("A_h_16", {"h": 16, "d_k": 32, "d_v": 32}, 4.91, 25.8, None),
    ("C_d_model_256", {"d_model": 256, "d_k": 32, "d_v": 32}, 5.75, 24.5, 28),
    ("C_d_model_1024", {"d_model": 1024, "d_k": 128, "d_v": 128}, 4.66, 26.0, 168),
    ("C_d_ff_1024", {"d_ff": 1024}, 5.12, 25.4, 53),
])  # fmt: skip
def test_rows_that_are_often_miscopied(name, cells, perplexity, bleu, params):
    """h = 4's scores given to h = 16, and d_model's rows taken for d_ff's."""
    row = paper.TABLE_3[name]
    assert (row.cells, row.perplexity, row.bleu, row.params_millions) == (cells, perplexity, bleu, params)


def test_what_the_rows_show():
    rows = paper.TABLE_3
    smoothing = [rows[name].perplexity for name in ("D_eps_ls_0.0", "base", "D_eps_ls_0.2")]
    assert smoothing == [4.67, 4.92, 5.47], "more smoothing, more perplexity"
    assert [rows[name].bleu for name in ("C_d_ff_1024", "base", "C_d_ff_4096")] == [25.4, 25.8, 26.2]
    assert rows["A_h_16"].bleu == rows["base"].bleu
    assert rows["A_h_32"].bleu == 25.4


def as_printed(row, where):
    """The line that opens a config of Table 3."""
    params = "" if row.params_millions is None else f", {row.params_millions} million parameters"
    return f"# Table 3, {where}: PPL (dev) {row.perplexity:.2f}, BLEU (dev) {row.bleu:.1f}{params}."


@pytest.mark.parametrize("name", paper.TABLE_3)
def test_a_row_s_config_opens_with_the_row_as_printed(name):
    row = paper.TABLE_3[name]
    where = f"{name} row" if row.group == name else f"row ({row.group})"
    assert (CONFIGS / "table3" / f"{name}.gin").read_text().splitlines()[0] == as_printed(row, where)


@pytest.mark.parametrize(("name", "where"), [("base", "first row"), ("big", "last row")])
def test_the_models_configs_say_their_row(name, where):
    assert (CONFIGS / f"{name}.gin").read_text().splitlines()[1] == as_printed(paper.TABLE_3[name], where)


@pytest.mark.parametrize("languages", ["en_de", "en_fr"])
@pytest.mark.parametrize(("name", "system"), [("base", "Transformer (base model)"), ("big", "Transformer (big)")])
def test_table_2_s_configs_say_their_scores(languages, name, system):
    first = (CONFIGS / "table2" / f"{languages}_{name}.gin").read_text().splitlines()[0]
    language = {"en_de": "English-German", "en_fr": "English-French"}[languages]
    bleu, flops = (getattr(paper.TABLE_2[system], f"{cell}_{languages}") for cell in ("bleu", "flops"))
    earlier = f" ({paper.BLEU_EN_FR_BIG_IN_THE_PROCEEDINGS} in the proceedings)" * (
        (languages, name) == ("en_fr", "big")
    )
    cost = f"{flops:.1e}".replace("e+", "e")
    assert first == (
        f"# Table 2, {language}, {name} model: BLEU {bleu} on newstest2014{earlier}, training cost {cost} FLOPs."
    )


def test_the_readme_gives_table_2_s_scores():
    text = (PROJECT_ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| Table 2, (English-\w+) (base|big)\b[^|]*\| ([^|]*?) \|", text, re.MULTILINE)
    base, big = paper.TABLE_2["Transformer (base model)"], paper.TABLE_2["Transformer (big)"]
    assert found == [
        ("English-German", "base", str(base.bleu_en_de)),
        ("English-German", "big", str(big.bleu_en_de)),
        ("English-French", "base", str(base.bleu_en_fr)),
        ("English-French", "big", f"{big.bleu_en_fr} ({paper.BLEU_EN_FR_BIG_IN_THE_PROCEEDINGS} in the proceedings)"),
    ]
