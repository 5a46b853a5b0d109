"""Learning curves show what runs logged and scored, each point where it belongs."""

import csv
import json
import math

import pytest
from run_folders import make_run, write_run
from tiny_commands import require_one_line, run_command, snapshot
from tiny_experiment import tiny_experiment

from experiments.comparison.curves import figure, labelled, write_curves
from experiments.comparison.series import last_words
from experiments.registry.records import read_run

LOSS, PERPLEXITY, BLEU, RATE, GRADIENT, SPEED = range(6)
TRAIN = {"kind": "train", "target_tokens_per_second": 200.0, "gradient_norm": 0.5, "learning_rate": 1e-3}


def train(step: int, loss: float) -> dict:
    return {**TRAIN, "step": step, "loss": loss, "negative_log_likelihood": math.log(2 * step)}


def dev(step: int, perplexity: float) -> dict:
    return {"kind": "dev", "step": step, "perplexity": perplexity, "negative_log_likelihood": math.log(perplexity)}


def logged(path, *records, results=None, **changes):
    return write_run(path, tiny_experiment(**changes), records, {}, results or {})


def scored(value: float, corpus="c") -> dict:
    return {"bleu": {"value": value, "signature": "s"}, "checkpoint_steps": [4, 6], "corpus": corpus}


def panels(*folders):
    return figure(labelled([read_run(folder) for folder in folders])).axes


def points(axis) -> list[list[tuple[float, float]]]:
    return [list(zip(*line.get_data(), strict=True)) for line in axis.lines]


@pytest.fixture
def two(tmp_path):
    """A run that was scored, and one that is still in training."""
    scores = {"dev": scored(30.0), "test": scored(20.0)}
    first = logged(tmp_path / "one", train(3, 5.0), train(6, 4.0), dev(6, 7.0), results=scores)
    return first, logged(tmp_path / "other", train(3, 6.0))


def test_every_number_stands_in_its_panel_over_its_step(two):
    axes = panels(*two)
    assert points(axes[LOSS]) == [[(3, 5.0), (6, 4.0)], [(3, 6.0)]]
    training, on_dev, other = points(axes[PERPLEXITY])
    assert [step for step, _ in training] == [3, 6]
    assert [value for _, value in training] == pytest.approx([6.0, 12.0])
    assert on_dev == [(6, 7.0)]
    assert other == [(3, pytest.approx(6.0))]
    assert points(axes[BLEU]) == [[(6, 30.0)], [(6, 20.0)]]
    assert points(axes[RATE]) == [[(3, 1e-3), (6, 1e-3)], [(3, 1e-3)]]
    assert points(axes[GRADIENT]) == [[(3, 0.5), (6, 0.5)], [(3, 0.5)]]
    assert points(axes[SPEED]) == [[(3, 200.0), (6, 200.0)], [(3, 200.0)]]


def test_a_run_has_one_colour_and_one_place_in_the_legend(two):
    drawn = figure(labelled([read_run(folder) for folder in two]))
    (legend,) = drawn.legends
    keys = {text.get_text(): line.get_color() for text, line in zip(legend.texts, legend.get_lines(), strict=True)}
    assert list(keys) == ["one", "other"]
    for axis in drawn.axes:
        assert {line.get_color() for line in axis.lines} <= set(keys.values())
    assert [line.get_color() for line in drawn.axes[LOSS].lines] == list(keys.values())


@pytest.mark.parametrize("count", [1, 7, 8, 60])
def test_any_number_of_runs_has_as_many_colours(tmp_path, count):
    record = read_run(make_run(tmp_path / "run", steps=[4]))
    drawn = figure({str(name): record for name in range(count)})
    assert len({line.get_color() for line in drawn.legends[0].get_lines()}) == count


@pytest.mark.parametrize("steps", [[1, 2, 3], [1, 2, 3, 2, 3], [1, 4, 6, 1, 2, 3], [9, 1, 2, 2, 3]])
def test_of_updates_that_were_made_again_the_last_record_stands(steps):
    records = [{"step": step, "at": at} for at, step in enumerate(steps)]
    kept = last_words(records)
    assert [record["step"] for record in kept] == [1, 2, 3]
    assert all(record["at"] == len(steps) - 1 - steps[::-1].index(record["step"]) for record in kept)


def test_a_loss_that_is_not_finite_is_a_gap(tmp_path):
    run = logged(tmp_path / "run", train(1, 3.0), train(2, math.nan), train(3, 2.0), dev(3, math.inf))
    assert run_command("curves", str(run), f"--workdir={tmp_path / 'drawn'}").code == 0
    (loss,) = points(panels(run)[LOSS])
    assert [math.isnan(value) for _, value in loss] == [False, True, False]
    rows = list(csv.DictReader((tmp_path / "drawn" / "curves.csv").read_text().splitlines()))
    assert [row["value"] for row in rows if row["curve"] == "loss"] == ["3.0", "", "2.0"]
    assert [row["value"] for row in rows if row["curve"] == "dev perplexity"] == [""]


def notes(folders) -> list[str]:
    return [" ".join(axis.get_xlabel().split()).removeprefix("updates").strip() for axis in panels(*folders)]


def test_curves_of_several_kinds_say_so(tmp_path):
    a = logged(tmp_path / "a", train(3, 5.0), results={"test": scored(20.0)})
    assert notes([a, a]) == [""] * 6
    b = logged(tmp_path / "b", train(3, 5.0), results={"test": scored(20.0, "d")}, label_smoothing=0.0)
    assert notes([a, b]) == [
        "not comparable: different Training.label_smoothing", "", "not comparable: different test set", "", "", "",
    ]  # fmt: skip


def test_runs_of_very_different_lengths_have_a_logarithmic_axis(tmp_path):
    short, long, longer = (logged(tmp_path / str(last), train(1, 5.0), train(last, 4.0)) for last in (10, 30, 300))
    assert {axis.get_xscale() for axis in panels(short, long)} == {"linear"}
    assert {axis.get_xscale() for axis in panels(short, long, longer)} == {"log"}


def test_the_command_writes_pictures_and_numbers_and_nothing_else(two, tmp_path):
    before = [snapshot(folder) for folder in two]
    into = tmp_path / "drawn"
    ended = run_command("curves", *map(str, two), f"--workdir={into}")
    assert (ended.code, ended.err) == (0, "")
    assert sorted(path.name for path in into.iterdir()) == [f"curves.{kind}" for kind in ("csv", "md", "png", "svg")]
    assert (into / "curves.md").read_text().startswith("Learning curves of one (at step 6 of 10), other (at step 3 of")
    assert (into / "curves.png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.reader((into / "curves.csv").read_text().splitlines()))
    assert rows[0] == ["run", "curve", "step", "value"]
    assert ["one", "loss", "3", "5.0"] in rows
    assert ["one", "test BLEU", "6", "20.0"] in rows
    assert len(rows) - 1 == sum(len(line) for axis in panels(*two) for line in points(axis))
    assert [snapshot(folder) for folder in two] == before
    write_curves(labelled([read_run(folder) for folder in two]), tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == (into / "curves.svg").read_bytes()


def test_a_damaged_line_is_said_and_the_rest_is_drawn(two, tmp_path):
    with (two[0] / "metrics.jsonl").open("a") as file:
        file.write("no record\n" + json.dumps(train(9, 3.0)) + '\n{"kind": "tra')
    ended = run_command("curves", str(two[0]), f"--workdir={tmp_path / 'drawn'}")
    assert (ended.code, ended.err) == (0, f"{two[0]}/metrics.jsonl: 1 of 5 lines cannot be read\n")
    assert points(panels(two[0])[LOSS]) == [[(3, 5.0), (6, 4.0), (9, 3.0)]]


def test_what_cannot_be_drawn_is_one_line(two, tmp_path):
    (tmp_path / "empty").mkdir()
    new = make_run(tmp_path / "new")
    for args, pattern in (
        ([tmp_path / "empty"], r"\S+/empty holds no run: .*"),
        ([tmp_path / "none"], r"\S+/none is no folder"),
        ([two[0], tmp_path / "empty"], r"\S+/empty holds no run: .*"),
        ([new], r"nothing to draw: no update was logged and nothing scored in new"),
    ):
        require_one_line(run_command("curves", *map(str, args), f"--workdir={tmp_path / 'drawn'}"), pattern)
    inside = f"--workdir={two[0] / 'drawn'}"
    require_one_line(run_command("curves", str(two[0]), inside), r"--workdir=\S+/drawn lies in the run \S+/one, .*")
    assert not (tmp_path / "drawn").exists()
