"""What a sweep has come to: read back from what it wrote."""

import csv
import re

import pytest
from toy_sweep import Machine, observer, trials

from experiments.gin_bindings import load_experiment
from experiments.study.leaderboard import SweepError, require_not_all_failed, write_report
from transformer_jax.training.window import TrainingError


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """Six trials of two seeds, of which the third failed: the sweep, and what was said of it."""
    with pytest.MonkeyPatch.context() as patch:
        machine = Machine().install(patch)
        machine.fails_at["trial_0002/seed_1"] = TrainingError("step 20: the loss is nan")
        sweep = trials(tmp_path_factory.mktemp("swept") / "sweep", "Sweep.seeds = 2")
        sweep.work(observer=observer())
        return sweep, write_report(sweep)


def rows(path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_trials_are_ranked_with_the_interval_of_their_seeds(swept):
    sweep, said = swept
    text = (sweep.workdir / "leaderboard.md").read_text()
    assert said.startswith(text)
    assert text.startswith("6 trials: 5 finished, 1 failed\ntrial_0002 failed: step 20: the loss is nan\n")
    ranked = re.findall(r"^\| (\d) \| (\S+)/trial_(\d+)/{seed_1,seed_2} \| 2 \| ([\d.-]+) \| ([\d.-]+) \| ([\d.-]+) \|",
                        text, re.MULTILINE)  # fmt: skip
    values = {trial.number: trial.value for trial in sweep.study().trials}
    best_first = sorted((number for number in values if number != 2), key=lambda number: -values[number])
    assert [int(number) for _, _, number, *_ in ranked] == best_first
    for _, _, number, mean, low, high in ranked:
        assert float(mean) == pytest.approx(values[int(number)], abs=0.006)
        # Two seeds a tenth apart: Student's t with one degree of freedom, 12.706 * 0.1 / 2.
        assert (float(high) - float(low)) / 2 == pytest.approx(0.6353, abs=0.006)


def test_every_trial_is_in_the_csv_in_full(swept):
    sweep, _ = swept
    listed = rows(sweep.workdir / "trials.csv")
    assert [row["state"] for row in listed] == ["finished"] * 2 + ["failed"] + ["finished"] * 3
    for row, trial in zip(listed, sweep.study().trials, strict=True):
        assert int(row["trial"]) == trial.number
        assert float(row["Model.dropout_rate"]) == trial.params["Model.dropout_rate"]
        assert row["value"] == ("" if trial.number == 2 else str(trial.value))
        assert (sweep.workdir / row["folder"]).is_dir()
    assert listed[2]["failure"] == "step 20: the loss is nan"
    assert listed[2]["last_step_reported"] == "10"


def test_the_best_trials_config_can_be_launched(swept):
    sweep, _ = swept
    best = sweep.study().best_trial
    experiment = load_experiment([sweep.workdir / "best.gin"])
    assert experiment == sweep.definition.experiment(best.params, seed=1)


def test_the_pictures_are_there(swept):
    sweep, said = swept
    for name in ("importance.html", "importance.png", "parallel_coordinates.html", "parallel_coordinates.png"):
        assert (sweep.workdir / name).stat().st_size > 0
        assert name in said.splitlines()[-1]


def test_when_all_trials_fail_it_is_said_with_a_reason_and_not_before(swept, tmp_path, monkeypatch):
    require_not_all_failed(swept[0])
    machine, sweep = Machine().install(monkeypatch), trials(tmp_path / "sweep", "Sweep.trials = 2")
    machine.fails_at = {f"trial_000{number}/seed_1": TrainingError(f"no room for {number}") for number in range(2)}
    require_not_all_failed(sweep)
    sweep.work(observer=observer())
    with pytest.raises(SweepError, match=r"all 2 trials failed, the first: no room for 0$"):
        require_not_all_failed(sweep)


def test_before_any_trial_there_is_nothing_to_rank(tmp_path):
    said = write_report(trials(tmp_path / "sweep"))
    assert said.startswith("0 trials: none\n")
    assert not (tmp_path / "sweep" / "best.gin").exists()
