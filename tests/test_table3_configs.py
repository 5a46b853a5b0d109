"""A config of Table 3 is its row: what the paper prints is bound, and nothing else differs from the base model."""

import ast
import json
import re
from pathlib import Path

import pytest
from test_configs import BASE

from experiments import paper
from experiments.gin_bindings import load_experiment, resolved

CONFIGS = Path(__file__).resolve().parents[1] / "gin_configs"
ROWS = {path.stem: path for path in (CONFIGS / "table3").glob("*.gin")}
SCALES = sorted((CONFIGS / "scale").glob("*.gin"))
WIDTHS = ("Model.d_model", "Model.d_ff", "Model.d_k", "Model.d_v")

# A scale says what text is learned, for how long, and how often something is written; the rest is the row's.
SCALED_BY_A_FILE = re.compile(
    r"Scale\.divisor|Data\.\w+|Batching\.\w+|Optimizer\.(warmup_steps|learning_rate_scale)|Scoring\.bleu_tokenizer"
    r"|Decoding\.tokens_per_batch|Training\.(?!label_smoothing|seed)\w+"
)


pytestmark = pytest.mark.usefixtures("unchecked_types")


def bindings(path):
    """What a gin file itself binds, in order, read without the project's own reader."""
    code = re.sub(r" *#.*", "", path.read_text())
    parts = re.split(r"^(\w+\.\w+) *= *", code, flags=re.MULTILINE)[1:]
    return [(name, ast.literal_eval(value.strip())) for name, value in zip(parts[::2], parts[1::2], strict=True)]


def settings_of(cells):
    """Table 3's cells as settings."""
    return {paper.TABLE_3_COLUMNS[column]: value for column, value in cells.items()}


def effective(name):
    """All the settings of a row: the base model's, its cells, and section 6.2's checkpoint, which is not averaged."""
    return BASE | {"Decoding.average_checkpoints": 1} | settings_of(paper.TABLE_3[name].cells)


def test_there_is_a_config_for_every_row_and_no_other():
    assert ROWS.keys() == paper.TABLE_3.keys()


@pytest.mark.parametrize("name", paper.TABLE_3)
def test_a_row_binds_its_cells_and_nothing_else(name):
    """In the table's column order; the base row also says what holds for all rows."""
    expected = list(settings_of(paper.TABLE_3[name].cells).items())
    if name == "base":
        expected.append(("Decoding.average_checkpoints", 1))
    assert bindings(ROWS[name]) == expected
    columns = list(paper.TABLE_3_COLUMNS)
    assert sorted(paper.TABLE_3[name].cells, key=columns.index) == list(paper.TABLE_3[name].cells)


@pytest.mark.parametrize("name", paper.TABLE_3)
def test_a_row_opens_with_the_paper_s_figures_and_then_includes_the_base_row(name):
    lines = ROWS[name].read_text().splitlines()
    assert lines[0].startswith(f"# Table 3, row ({name[0]}): PPL" if "_" in name else f"# Table 3, {name} row: PPL")
    statements = [line for line in lines if line and not line.startswith("#")]
    assert statements[0] == ('include "../base.gin"' if name == "base" else 'include "base.gin"')
    assert sum(line.startswith("include") for line in lines) == 1


@pytest.mark.parametrize("name", paper.TABLE_3)
def test_a_row_is_the_base_model_with_its_cells_changed(name):
    assert resolved(load_experiment([ROWS[name]])) == effective(name)


def test_a_row_s_settings_are_those_that_were_worked_out_beside_the_paper(shared):
    entries = json.loads((shared / "paper" / "tables.json").read_text())["table3"]["rows"]
    for name, entry in zip(paper.TABLE_3, entries, strict=True):
        settings = resolved(load_experiment([ROWS[name]]))
        ours = {column.replace(" ", "_"): settings[field] for column, field in paper.TABLE_3_COLUMNS.items()}
        ours["positions"] = {"sinusoidal": "sinusoid"}.get(ours["positions"], ours["positions"])
        assert ours == entry["effective"], name


@pytest.mark.parametrize("name", paper.TABLE_3)
def test_keys_and_values_share_d_model_between_the_heads(name):
    """d_k = d_v = d_model / h, but for (B), which changes d_k alone."""
    model = load_experiment([ROWS[name]]).model
    assert model.num_heads * model.d_v == model.d_model
    assert (model.d_k == model.d_v) == (paper.TABLE_3[name].group != "B")


def test_no_two_rows_are_the_same():
    settings = [str(effective(name)) for name in paper.TABLE_3]
    assert len(set(settings)) == len(settings)


@pytest.mark.parametrize("path", SCALES, ids=lambda path: path.stem)
def test_a_scale_leaves_alone_what_rows_vary(path):
    """Not even to the value that the base row has: on a row with another it would be a change."""
    names = [name for name, _ in bindings(path)]
    assert [name for name in names if not SCALED_BY_A_FILE.fullmatch(name)] == []
    varied = set(paper.TABLE_3_COLUMNS.values()) - {"Training.num_steps"}
    assert varied.isdisjoint(names)
    assert "include" not in re.sub(r"#.*", "", path.read_text()), "a scale goes on top of a row, and brings none"


@pytest.mark.parametrize("path", SCALES, ids=lambda path: path.stem)
@pytest.mark.parametrize("name", paper.TABLE_3)
def test_a_row_at_a_scale_is_the_row_with_its_widths_divided(name, path):
    """Layers, heads, dropout, smoothing and positions stay the row's own, at all scales."""
    changes = dict(bindings(path))
    divisor = changes.pop("Scale.divisor", 1)
    row = effective(name)
    assert all(row[width] % divisor == 0 for width in WIDTHS)
    expected = row | {width: row[width] // divisor for width in WIDTHS} | changes
    assert resolved(load_experiment([ROWS[name], path])) == expected


@pytest.mark.parametrize("path", [path for path in SCALES if "^-0.5" in path.read_text()], ids=lambda path: path.stem)
@pytest.mark.parametrize("name", paper.TABLE_3)
def test_a_scale_that_says_so_keeps_the_rate_of_the_row_s_own_width(name, path):
    """The formula has d_model^-0.5, which a narrower model would raise."""
    row, scaled = load_experiment([ROWS[name]]), load_experiment([ROWS[name], path])
    factors = [each.optimizer.learning_rate_scale * each.model.d_model**-0.5 for each in (row, scaled)]
    assert factors[1] == pytest.approx(factors[0], rel=1e-7)
