"""Tables of runs: what differs is shown, what is asked for is kept, and a slip is refused in one line."""

import csv
import io
from pathlib import Path

import pytest
from run_folders import make_folder, names
from tiny_experiment import tiny_experiment

from experiments.gin_bindings import to_gin
from experiments.registry.records import RegistryError, read_run, read_runs
from experiments.registry.tables import Table, differing, listing, matching, page, row

ALL = ["narrow", "narrow_again", "new", "wide/seed_2", "wide/seed_10"]


pytestmark = pytest.mark.usefixtures("unchecked_types")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return make_folder(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="module")
def records(folder):
    return read_runs([folder])


def test_the_settings_that_differ_are_shown_and_no_other(records):
    assert differing([row(record, "dev") for record in records]) == ["Model.d_ff"]
    table = listing(records, "dev", sort=None, columns=None)
    assert [name for name in table.columns if "." in name] == ["Model.d_ff"]
    assert [line[table.columns.index("Model.d_ff")] for line in table.rows] == ["23", "23", "29", "64", "64"]


def test_columns_that_are_blank_for_all_are_left_out_unless_asked_for(records):
    assert "remarks" not in listing(records, "dev", sort=None, columns=None).columns
    assert {"bleu", "loss"} & set(listing(records, "test", sort=None, columns=None).columns) == set()
    assert listing(records, "test", sort=None, columns=["seed", "bleu"]).rows == [
        [seed, None] for seed in (1, 2, 3, 2, 10)
    ]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("Model.d_ff = 64", ["wide/seed_2", "wide/seed_10"]),
        ("Model.d_ff!=23", ["new", "wide/seed_2", "wide/seed_10"]),
        ("Model.d_ff > 29", ["wide/seed_2", "wide/seed_10"]),
        ("Optimizer.max_gradient_norm = None", ALL),
        ("Data.train = 'train.tsv'", ALL),
        ("bleu > 20", ["narrow", "wide/seed_2"]),
        ("bleu <= 20", ["wide/seed_10"]),
        ("bleu = None", ["narrow_again", "new"]),
        ("state = 'not begun'", ["new"]),
    ],
)
def test_a_filter_keeps_the_runs_of_which_it_holds(folder, records, condition, expected):
    assert names(matching(records, "dev", [condition]), folder) == expected


def test_all_filters_must_hold(folder, records):
    assert names(matching(records, "dev", ["Model.d_ff = 64", "bleu > 20"]), folder) == ["wide/seed_2"]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("Model.d_fff = 64", r"Model.d_fff is no column \(columns are path, .*\); did you mean Model.d_ff\?"),
        ("Model.d_ff = 'wide'", "Model.d_ff = 'wide': must be a whole number"),
        ("Model.pre_norm = 1", "Model.pre_norm = 1: must be True or False"),
        ("Model.d_ff = 0", "Model.d_ff = 0: must be at least 1"),
        ("Model.d_ff > 'wide'", "Model.d_ff is never such a value, but for example 23"),
        ("bleu > 'high'", "bleu is never such a value, but for example 20.5"),
        ("state = scored", r"scored is no value as gin writes them \(text in quotes\)"),
        ("Model.d_ff", "must be like 'Model.d_ff = 256' or 'bleu > 20'"),
        ("bleu > 99", "none of 5 runs has bleu > 99"),
    ],
)
def test_a_filter_that_can_hold_of_nothing_is_refused(records, condition, message):
    with pytest.raises(RegistryError, match=message) as caught:
        matching(records, "dev", [condition])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("sort", "scores"), [("bleu", [20.0, 20.5, 22.0]), ("-bleu", [22.0, 20.5, 20.0])])
def test_what_is_blank_is_last_whichever_way_is_sorted(records, sort, scores):
    table = listing(records, "dev", sort=sort, columns=["path", "bleu"])
    assert [bleu for _, bleu in table.rows] == [*scores, None, None]
    assert [Path(path).name for path, _ in table.rows[3:]] == ["narrow_again", "new"]


def test_equal_runs_stay_in_order(folder, records):
    table = listing(records, "dev", sort="-Model.d_ff", columns=["path"])
    ordered = ["wide/seed_2", "wide/seed_10", "new", "narrow", "narrow_again"]
    assert table.rows == [[str(folder / name)] for name in ordered]


def test_an_unknown_column_is_refused(records):
    with pytest.raises(RegistryError, match=r"^--sort=-blue: blue is no column .*did you mean bleu\?$"):
        listing(records, "dev", sort="-blue", columns=None)
    with pytest.raises(RegistryError, match=r"^--columns: Model is no column \(columns are path, state, "):
        listing(records, "dev", sort=None, columns=["path", "Model"])


def test_a_table_in_each_format():
    table = Table(["path", "bleu", "seconds"], [["a|b", 27.655, 3725.4], ["c", None, 59.6]])
    assert table.text("table") == "path   bleu  seconds\na|b   27.66  1:02:05\nc            0:01:00\n"
    assert table.text("markdown").split("\n")[1:3] == ["| --- | --- | --- |", r"| a\|b | 27.66 | 1:02:05 |"]
    assert list(csv.reader(io.StringIO(table.text("csv"))))[1:] == [["a|b", "27.655", "3725.4"], ["c", "", "59.6"]]


def test_a_page_holds_everything_of_a_run(folder):
    text = page(read_run(folder / "narrow"))
    assert text.startswith(f"{folder}/narrow: trained, scored on dev\n")
    for line in to_gin(tiny_experiment(seed=1)).splitlines():
        assert f"  {line}\n" in text
    assert "  bleu: 20.50 = 50/40 [tok:none|version:9]\n" in text
    assert "  command: train it\n" in text
    assert "  negative_log_likelihood: 2.25\n" in text
    assert f"{(folder / 'narrow' / 'results.json').stat().st_size:,} bytes  results.json" in text


def test_a_setting_that_was_drawn_is_short_to_read_and_whole_in_csv():
    table = Table(["Model.dropout_rate"], [[0.0005753317093586422], [0.1], [1e-9], [25.0]])
    assert [line.strip("| ") for line in table.text("markdown").splitlines()[2:]] == [
        "0.0005753",
        "0.1",
        "1e-09",
        "25.0",
    ]
    assert table.text("csv").splitlines()[1:] == ["0.0005753317093586422", "0.1", "1e-09", "25.0"]
