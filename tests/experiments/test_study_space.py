"""Spaces: what gin says is what is drawn, all of it and nothing else."""

from pathlib import Path

import optuna
import pytest

from experiments.gin_bindings import Binding, load_bindings
from experiments.study.distributions import dimension
from experiments.study.space import Space, extremes, grid, points, settings_at, suggested
from transformer_jax.checked import ConfigError

HEADS = """sweep/heads = ("choice",
    {"Model.num_heads": 1, "Model.d_k": 12},
    {"Model.num_heads": 2, "Model.d_k": ("choice", 3, 5)},
    {"Model.num_heads": 4, "Optimizer.warmup_steps": ("integer", 10, 14)})"""


def space(*said: str) -> Space:
    return tuple(map(dimension, load_bindings([], said, scope="sweep").values()))


def drawn(searched: Space, count: int) -> list[dict]:
    """Settings at points of a random sampler's."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    trials = [(trial, suggested(searched, trial)) for trial in (study.ask() for _ in range(count))]
    assert all(trial.params == point for trial, point in trials)
    return [settings_at(searched, point) for _, point in trials]


@pytest.mark.parametrize(
    ("said", "kind", "low", "high"),
    [
        ('("uniform", 0.1, 0.4)', float, 0.1, 0.4),
        ('("uniform", 0, 1)', float, 0, 1),
        ('("log_uniform", 1e-4, 1.0)', float, 1e-4, 1),
        ('("integer", 3, 7)', int, 3, 7),
        ('("log_integer", 1, 1000)', int, 1, 1000),
    ],
)
def test_numbers_lie_between_their_bounds_and_are_of_their_kind(said, kind, low, high):
    values = [point["Optimizer.epsilon"] for point in drawn(space(f"sweep/Optimizer.epsilon = {said}"), 200)]
    assert {type(value) for value in values} == {kind}
    assert low <= min(values) < max(values) <= high
    below = sum(value < (low * high) ** 0.5 for value in values)
    assert ("log" not in said) or 80 < below < 120, "half of them below the geometric mean"


def test_a_step_leads_from_one_bound_to_the_other():
    values = {
        point["Model.dropout_rate"]
        for point in drawn(space('sweep/Model.dropout_rate = ("uniform", 0.1, 0.4, 0.1)'), 99)
    }
    assert sorted(values) == pytest.approx([0.1, 0.2, 0.3, 0.4])
    values = {point["Model.d_k"] for point in drawn(space('sweep/Model.d_k = ("integer", 2, 8, 3)'), 99)}
    assert values == {2, 5, 8}


def test_a_choice_is_one_of_its_options_whatever_they_are():
    said = 'sweep/Data.train = ("choice", "one.tsv", ("two.en", "two.de"))'
    assert {point["Data.train"] for point in drawn(space(said), 20)} == {"one.tsv", ("two.en", "two.de")}
    said = 'sweep/Optimizer.max_gradient_norm = ("choice", None, 1.0)'
    assert {point["Optimizer.max_gradient_norm"] for point in drawn(space(said), 20)} == {None, 1.0}


def test_settings_of_one_option_come_together_and_what_depends_on_it_with_it():
    found = {tuple(sorted(point.items())) for point in drawn(space(HEADS), 200)}
    one = {(("Model.d_k", 12), ("Model.num_heads", 1))}
    two = {(("Model.d_k", d_k), ("Model.num_heads", 2)) for d_k in (3, 5)}
    four = {(("Model.num_heads", 4), ("Optimizer.warmup_steps", steps)) for steps in range(10, 15)}
    assert found == one | two | four


def test_a_grid_is_all_points_in_order():
    searched = space(HEADS, 'sweep/Model.dropout_rate = ("uniform", 0.0, 0.3, 0.1)')
    points = [settings_at(searched, point) for point in grid(searched, 1000)]
    assert len(points) == (1 + 2 + 5) * 4
    assert [point["Model.dropout_rate"] for point in points[:5]] == [0.0, 0.1, 0.2, 0.3, 0.0], (
        "as written, not 0.30000000000000004"
    )
    assert len({tuple(sorted(point.items())) for point in points}) == 32
    assert [settings_at(searched, point) for point in grid(searched, 7)] == points[:7]


def test_every_point_of_a_grid_can_be_given_to_a_study():
    searched = space(HEADS, 'sweep/Model.dropout_rate = ("uniform", 0.0, 0.3, 0.1)')
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    for point in grid(searched, 1000):
        study.enqueue_trial(point)
        assert suggested(searched, study.ask()) == point


def test_extremes_are_all_options_and_both_bounds():
    searched = space(HEADS, 'sweep/Model.dropout_rate = ("uniform", 0.0, 0.3)')
    found = [settings_at(searched, point) for point in points(searched, extremes)]
    assert {point["Model.dropout_rate"] for point in found} == {0.0, 0.3}
    assert {point.get("Optimizer.warmup_steps") for point in found} == {None, 10, 14}
    assert len(found) == (1 + 2 + 2) * 2


@pytest.mark.parametrize("said", ['("uniform", 0.0, 0.3)', '("log_uniform", 0.1, 0.3)', '("log_integer", 1, 9)'])
def test_what_has_no_steps_has_no_grid(said):
    with pytest.raises(ConfigError, match=r"^--gin_param=sweep/Model.d_k = .*: a grid needs \"choice\""):
        grid(space(f"sweep/Model.d_k = {said}"), 10)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ('Model.d_k = ("unifrm", 1, 2)', "sweep/Model.d_k: unifrm is no distribution; did you mean uniform?"),
        ('Model.d_k = ("logint", 1, 2)', "sweep/Model.d_k: logint is no distribution; did you mean log_integer?"),
        ('Model.d_k = ("gaussian", 1, 2)', "gaussian is no distribution; there are uniform, log_uniform, integer, "),
        ("Model.d_k = 64", 'sweep/Model.d_k = 64: must be a distribution, as ("uniform", 0.0, 0.4)'),
        ("Model.d_k = ()", "must be a distribution"),
        ("Model.d_k = (1, 2)", "must be a distribution"),
        ('Model.d_kk = ("integer", 1, 2)', "Model.d_kk is no setting; did you mean Model.d_k?"),
        ('Model.d_kk = ("choice", 1, 2)', "Model.d_kk is no setting; did you mean Model.d_k?"),
        ('heads = ("integer", 1, 2)', "heads is no setting"),
        ('heads = ("choice", 1, 2)', '1 must be settings with values, as {"Model.num_heads": 8}'),
        ('heads = ("choice", {"Model.headss": 1})', "Model.headss is no setting"),
        ('heads = ("choice", {"Model.d_k": ("integer", 2, 1)}, {})', "the first number must be below the second"),
        ('Model.d_k = ("choice",)', "must have something to choose from"),
        ('Model.d_k = ("choice", 1, 1)', "says 1 twice"),
        ('Model.d_k = ("choice", 1, True)', "says True twice"),
        ('Model.d_k = ("integer", 1)', "must have a low and a high number, and may have a step"),
        ('Model.d_k = ("log_integer", 1, 2, 1)', "must have a low and a high number"),
        ('Model.d_k = ("integer", 1.0, 2)', "must have whole numbers"),
        ('Model.d_k = ("integer", True, 2)', "must have whole numbers"),
        ('Model.dropout_rate = ("uniform", "0", 1)', "must have finite numbers"),
        ('Model.dropout_rate = ("uniform", 0, 1e999)', "must have finite numbers"),
        ('Model.dropout_rate = ("uniform", 0.4, 0.4)', "the first number must be below the second"),
        ('Model.dropout_rate = ("uniform", 0.0, 0.4, -0.1)', "and a step above 0"),
        ('Model.dropout_rate = ("uniform", 0.0, 0.4, 0.3)', "the step must lead from the first number to the second"),
        ('Optimizer.epsilon = ("log_uniform", 0.0, 1.0)', "the first number must be above 0"),
    ],
)
def test_what_is_no_distribution_is_said_with_its_place(tmp_path: Path, said, reason):
    path = tmp_path / "mine.gin"
    path.write_text(f"# A sweep.\nsweep/{said}\n")
    with pytest.raises(ConfigError) as caught:
        [dimension(binding) for binding in load_bindings([path], scope="sweep").values()]
    assert str(caught.value).startswith(f"{path}, line 2: ")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_value_in_a_choice_that_names_a_distribution_is_drawn_and_any_other_is_itself():
    binding = Binding("sweep/text", ("choice", {"Data.train": ("uniform.en", "uniform.de")}), "here")
    assert dimension(binding).options["train ('uniform.en', 'uniform.de')"].settings == {
        "Data.train": ("uniform.en", "uniform.de")
    }
