"""Trials of a study: each run once, to its end, whatever happens to the processes that run them."""

import math

import optuna
import pytest
from optuna.trial import TrialState
from toy_sweep import FILES, Machine, observer, trials

from experiments.study.definition import load_definition
from experiments.study.trials import Trials
from transformer_jax.training.loop import Observer
from transformer_jax.training.window import TrainingError


class Killed(BaseException):
    """In place of SIGKILL: nothing catches it, so what it leaves is what a killed process leaves."""


@pytest.fixture(autouse=True)
def machine(monkeypatch) -> Machine:
    return Machine().install(monkeypatch)


def states(sweep) -> list[TrialState]:
    return [trial.state for trial in sweep.study().trials]


def test_so_many_trials_as_were_asked_for_and_then_no_more(machine, tmp_path):
    sweep = trials(tmp_path)
    assert sweep.left() == [0, 1, 2, 3, 4, 5]
    sweep.work(observer=observer())
    assert machine.trained == [f"trial_{number:04d}/seed_1" for number in range(6)]
    assert states(sweep) == [TrialState.COMPLETE] * 6
    sweep.work(observer=observer())
    assert len(machine.trained) == len(sweep.study().trials) == 6
    more = trials(tmp_path, "Sweep.trials = 8")
    more.work(observer=observer())
    assert len(more.study().trials) == 8
    assert machine.trained[6:] == ["trial_0006/seed_1", "trial_0007/seed_1"]


def test_a_process_takes_no_more_than_it_is_told(tmp_path):
    sweep = trials(tmp_path)
    sweep.work(at_most=2, observer=observer())
    assert sweep.left() == [2, 3, 4, 5]


def test_a_trial_has_the_score_of_its_run(tmp_path):
    sweep = trials(tmp_path)
    sweep.work(observer=observer())
    for trial in sweep.study().trials:
        assert trial.value == pytest.approx(29.9 - 100 * trial.params["Model.dropout_rate"])
    best = max(sweep.study().trials, key=lambda trial: trial.value)
    assert sweep.study().best_trial.number == best.number, "BLEU is to be high"


def test_seeds_are_repeated_and_their_mean_is_the_score(machine, tmp_path):
    sweep = trials(tmp_path, "Sweep.seeds = 3", "Sweep.trials = 1")
    sweep.work(observer=observer())
    assert machine.trained == [f"trial_0000/seed_{seed}" for seed in (1, 2, 3)]
    (trial,) = sweep.study().trials
    assert trial.value == pytest.approx(30 - 0.2 - 100 * trial.params["Model.dropout_rate"])


def test_a_perplexity_is_averaged_as_what_it_is(tmp_path):
    sweep = trials(tmp_path, "Sweep.seeds = 2", "Sweep.trials = 1", 'Sweep.metric = "perplexity_per_piece"')
    sweep.work(observer=observer())
    (trial,) = sweep.study().trials
    first = 70.1 + 100 * trial.params["Model.dropout_rate"]
    assert trial.value == pytest.approx(math.sqrt(first * (first + 0.1)), rel=1e-9), "the geometric mean"
    assert sweep.study().direction == optuna.study.StudyDirection.MINIMIZE


# TPE draws at random for its first ten trials.
@pytest.mark.parametrize(("sampler", "count"), [("random", 3), ("tpe", 12), ("quasi_random", 4)])
def test_points_do_not_depend_on_how_many_processes_drew_them(tmp_path, sampler, count):
    """Each call is a process as far as a sampler's random numbers go."""
    chosen = f'Sweep.sampler = "{sampler}"', f"Sweep.trials = {count}"
    at_once, one_by_one = trials(tmp_path / "at_once", *chosen), trials(tmp_path / "one_by_one", *chosen)
    at_once.work(observer=observer())
    while one_by_one.left():
        one_by_one.work(at_most=1, observer=observer())
    drawn = [[trial.params for trial in sweep.study().trials] for sweep in (at_once, one_by_one)]
    assert drawn[0] == drawn[1]
    assert len({trial["Model.dropout_rate"] for trial in drawn[0]}) == count


def test_a_grid_has_each_point_once(tmp_path):
    varied = ('sweep/Model.dropout_rate = ("uniform", 0.0, 0.2, 0.1)',
              'sweep/Optimizer.warmup_steps = ("choice", 10, 100)')  # fmt: skip
    sweep = trials(tmp_path, 'Sweep.sampler = "grid"', "Sweep.trials = 99", *varied)
    while sweep.left():
        sweep.work(at_most=1, observer=observer())
    points = [(trial.params["Model.dropout_rate"], trial.params["Optimizer.warmup_steps"])
              for trial in sweep.study().trials]  # fmt: skip
    assert points == [(rate, steps) for rate in (0.0, 0.1, 0.2) for steps in (10, 100)]
    assert states(sweep) == [TrialState.COMPLETE] * 6


def test_a_killed_trial_goes_on_as_itself(machine, tmp_path):
    """In training, and between its seeds: the same point under the same number, and what was done is not done again."""
    sweep = trials(tmp_path, "Sweep.seeds = 2", "Sweep.trials = 2")
    machine.fails_at = {"trial_0000/seed_1": Killed(), "trial_0000/seed_2": Killed()}
    for _ in range(2):
        with pytest.raises(Killed):
            sweep.work(observer=observer())
    assert sweep.left() == [0, 1]
    point = sweep.study().trials[0].params
    sweep.work(observer=observer())
    assert machine.trained == [
        "trial_0000/seed_1", "trial_0000/seed_1", "trial_0000/seed_2", "trial_0000/seed_2",
        "trial_0001/seed_1", "trial_0001/seed_2",
    ]  # fmt: skip
    assert states(sweep) == [TrialState.COMPLETE] * 2
    assert sweep.study().trials[0].params == point
    assert set(sweep.study().trials[0].intermediate_values) == {10, 20, 30, 40}


@pytest.mark.parametrize("moment", ["begun", "half drawn"])
@pytest.mark.parametrize("sampler", ["random", "grid"])
def test_a_trial_that_was_killed_before_it_had_a_point_gets_the_one_it_would_have_had(
    tmp_path, monkeypatch, moment, sampler
):
    varied = f'Sweep.sampler = "{sampler}"', 'sweep/Optimizer.warmup_steps = ("integer", 10, 30, 5)', (
        'sweep/Model.dropout_rate = ("uniform", 0.0, 0.4, 0.05)')  # fmt: skip
    undisturbed, sweep = trials(tmp_path / "one", *varied), trials(tmp_path / "other", *varied)
    undisturbed.work(observer=observer())
    sweep.work(at_most=2, observer=observer())
    name = {"begun": "suggest_float", "half drawn": "suggest_int"}[moment]
    with monkeypatch.context() as patch:
        patch.setattr(optuna.trial.Trial, name, lambda *_, **__: (_ for _ in ()).throw(Killed()))
        with pytest.raises(Killed):
            sweep.work(observer=observer())
    assert states(sweep)[2] == TrialState.RUNNING
    sweep.work(observer=observer())
    assert states(sweep) == [TrialState.COMPLETE] * 6
    if sampler == "grid" or moment == "begun":
        assert [trial.params for trial in sweep.study().trials] == [
            trial.params for trial in undisturbed.study().trials
        ]


def test_what_a_killed_process_had_finished_is_told(machine, tmp_path, monkeypatch):
    sweep = trials(tmp_path, "Sweep.trials = 1")
    with monkeypatch.context() as patch:
        patch.setattr(optuna.Study, "tell", lambda *_, **__: (_ for _ in ()).throw(Killed()))
        with pytest.raises(Killed):
            sweep.work(observer=observer())
    assert states(sweep) == [TrialState.RUNNING]
    sweep.work(observer=observer())
    assert machine.trained == ["trial_0000/seed_1"], "once"
    assert states(sweep) == [TrialState.COMPLETE]


def test_a_stop_leaves_the_trial_to_be_gone_on_with(machine, tmp_path):
    sweep = trials(tmp_path, "Sweep.trials = 2")
    sweep.work(observer=Observer(print, print, lambda: len(machine.trained) == 1))
    assert (machine.trained, machine.scored, states(sweep)) == (["trial_0000/seed_1"], [], [TrialState.RUNNING])
    sweep.work(observer=observer())
    assert states(sweep) == [TrialState.COMPLETE] * 2


def test_a_trial_that_another_process_has_is_left_to_it(machine, tmp_path):
    """The second looks for trials from within the first's training."""
    sweep, other = trials(tmp_path, "Sweep.trials = 3"), Machine()
    train = machine.train

    def train_beside(folder, experiment, watched):
        if not other.trained:
            with pytest.MonkeyPatch.context() as patch:
                other.install(patch)
                sweep.work(observer=observer())
        train(folder, experiment, watched)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("experiments.run_list.train_in", train_beside)
        sweep.work(observer=observer())
    assert machine.trained == ["trial_0000/seed_1"]
    assert other.trained == ["trial_0001/seed_1", "trial_0002/seed_1"]
    assert states(sweep) == [TrialState.COMPLETE] * 3


def test_a_trial_that_fails_is_one_that_failed(machine, tmp_path):
    sweep = trials(tmp_path, "Sweep.trials = 3", "Sweep.seeds = 2")
    machine.fails_at["trial_0001/seed_1"] = TrainingError("step 20: the loss is nan")
    sweep.work(observer=observer())
    assert states(sweep) == [TrialState.COMPLETE, TrialState.FAIL, TrialState.COMPLETE]
    assert sweep.study().trials[1].user_attrs["failure"] == "step 20: the loss is nan"
    assert "trial_0001/seed_2" not in machine.trained, "it cannot have a mean any more"
    sweep.work(observer=observer())
    assert len(machine.trained) == 5, "nothing is tried again"


def test_a_point_whose_settings_do_not_go_together_has_failed(tmp_path):
    """One extreme each goes with some value of the other, so that it is not seen before."""
    clash = (
        'sweep/Training.keep_checkpoints = ("choice", 2, 9)',
        'sweep/Decoding.average_checkpoints = ("choice", 1, 5)',
    )
    others = 'sweep/Model.dropout_rate = ("choice", 0.1)', 'sweep/Optimizer.warmup_steps = ("choice", 9)'
    sweep = trials(tmp_path, 'Sweep.sampler = "grid"', "Sweep.trials = 99", *others, *clash)
    sweep.work(observer=observer())
    assert states(sweep) == [TrialState.COMPLETE, TrialState.FAIL, TrialState.COMPLETE, TrialState.COMPLETE]
    assert "Training.keep_checkpoints = 2: must be at least" in sweep.study().trials[1].user_attrs["failure"]


def test_a_run_above_the_median_of_the_others_is_pruned(machine, tmp_path):
    rates = 'sweep/Model.dropout_rate = ("choice", 0.1, 0.2, 0.3, 0.0)', 'sweep/Optimizer.warmup_steps = ("choice", 9)'
    sweep = trials(tmp_path, 'Sweep.sampler = "grid"', 'Sweep.pruner = "median"', "Sweep.unpruned_trials = 2",
                   "Sweep.unpruned_steps = 20", *rates)  # fmt: skip
    said: list[str] = []
    sweep.work(observer=observer(said))
    assert states(sweep) == [TrialState.COMPLETE] * 2 + [TrialState.PRUNED, TrialState.COMPLETE]
    assert set(sweep.study().trials[2].intermediate_values) == {10, 20}, "the first step at which it may be"
    assert "pruned at step 20" in said
    assert [name for name, _ in machine.scored] == [f"trial_000{number}/seed_1" for number in (0, 1, 3)]


def test_what_was_to_be_pruned_when_it_was_killed_is_not_trained_on(tmp_path, monkeypatch):
    rates = 'sweep/Model.dropout_rate = ("choice", 0.1, 0.3)', 'sweep/Optimizer.warmup_steps = ("choice", 9)'
    sweep = trials(tmp_path, 'Sweep.sampler = "grid"', 'Sweep.pruner = "median"', "Sweep.unpruned_trials = 1", *rates)
    with monkeypatch.context() as patch:
        patch.setattr(optuna.trial.Trial, "should_prune", lambda trial: bool(trial.number) and _raise(Killed()))
        with pytest.raises(Killed):
            sweep.work(observer=observer())
    sweep.work(observer=observer())
    assert states(sweep) == [TrialState.COMPLETE, TrialState.PRUNED]
    assert set(sweep.study().trials[1].intermediate_values) == {10}


def _raise(error: BaseException) -> bool:
    raise error


def test_losses_are_reported_so_that_better_is_better(tmp_path):
    """Optuna's direction is that of the score, so a loss is negated beside a score that is to be high."""
    for metric, sign in (("bleu", -1), ("perplexity_per_piece", 1)):
        sweep = trials(tmp_path / metric, f'Sweep.metric = "{metric}"', "Sweep.trials = 1")
        sweep.work(observer=observer())
        (trial,) = sweep.study().trials
        assert trial.intermediate_values[10] == pytest.approx(sign * (4.9 + trial.params["Model.dropout_rate"]))


def test_decoding_with_the_weights_of_a_run_trains_nothing(machine, tmp_path):
    claimed = trials(tmp_path / "first", "Sweep.trials = 1")
    claimed.work(observer=observer())
    run = tmp_path / "first" / "trial_0000" / "seed_1"

    said = [f'Sweep.trained = "{run}"', 'Sweep.pruner = "none"', 'Sweep.sampler = "grid"',
            'sweep/Decoding.beam_size = ("choice", 1, 4)']  # fmt: skip
    sweep = Trials(tmp_path / "decoding", None, load_definition(FILES[1:], said))
    sweep.work(observer=observer())
    assert len(machine.trained) == 1
    assert machine.scored[1:] == [("trial_0000/seed_1", run), ("trial_0001/seed_1", run)]
    values = [trial.value for trial in sweep.study().trials]
    assert values[1] - values[0] == pytest.approx(3)
