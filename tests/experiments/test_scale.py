"""A scale divides the widths on their way into an experiment, whoever binds them, and leaves no trace of its own."""

from pathlib import Path

import pytest

from experiments.gin_bindings import load_experiment, resolved, to_gin
from transformer_jax.checked import ConfigError

CONFIGS = Path(__file__).resolve().parents[2] / "gin_configs"
BASE = CONFIGS / "base.gin"
WIDTHS = ("d_model", "d_ff", "d_k", "d_v")


pytestmark = pytest.mark.usefixtures("unchecked_types")


@pytest.fixture
def write(tmp_path):
    """`write(name, text)`: a file to load."""

    def write(name, text):
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


def widths(gin_files, gin_params=()):
    model = load_experiment(gin_files, gin_params).model
    return [getattr(model, width) for width in WIDTHS]


def error_of(gin_files, gin_params=()):
    with pytest.raises(ConfigError) as raised:
        load_experiment(gin_files, gin_params)
    message = str(raised.value)
    assert len(message.splitlines()) == 1
    return message


def test_the_four_widths_are_divided_and_nothing_else(write):
    scale = write("scale.gin", "Scale.divisor = 8\n")
    expected = resolved(load_experiment([BASE])) | {
        "Model.d_model": 64,
        "Model.d_ff": 256,
        "Model.d_k": 8,
        "Model.d_v": 8,
    }
    assert resolved(load_experiment([BASE, scale])) == expected


def test_whoever_binds_a_width_and_whenever(write):
    """In a file below, above or beside the scale, or on the command line, as the scale itself may be."""
    row = write("row.gin", f'include "{BASE}"\nModel.d_model = 96\nModel.d_k = 36\n')
    scale = write("scale.gin", "Scale.divisor = 4\n")
    both = write("both.gin", f'Scale.divisor = 4\ninclude "{row}"\nModel.d_v = 20\n')
    assert widths([row, scale]) == widths([scale, row]) == [24, 512, 9, 16]
    assert widths([row], ["Scale.divisor = 4"]) == [24, 512, 9, 16]
    assert widths([both]) == [24, 512, 9, 5]
    assert widths([row, scale], ["Model.d_ff = 44"]) == [24, 11, 9, 16]
    assert widths([row], ["Model.d_ff = 44", "Scale.divisor = 4"]) == [24, 11, 9, 16]
    assert widths([row], ["Scale.divisor = 4\nModel.d_ff = 44"]) == [24, 11, 9, 16]


def test_of_several_divisors_the_last_holds(write):
    scale = write("scale.gin", "Scale.divisor = 8\n")
    assert widths([BASE, scale], ["Scale.divisor = 2"]) == [256, 1024, 32, 32]
    assert widths([BASE, scale], ["Scale.divisor = 3", "Scale.divisor = 1"]) == [512, 2048, 64, 64]


def test_only_the_width_that_holds_must_divide(write):
    """One that a later binding replaces is no longer a width of the experiment."""
    row = write("row.gin", f'include "{BASE}"\nModel.d_k = 30\n')
    assert widths([row], ["Scale.divisor = 8", "Model.d_k = 16"]) == [64, 256, 2, 8]


def test_without_a_scale_nothing_changes():
    row = CONFIGS / "table3" / "B_d_k_16.gin"
    assert load_experiment([row], ["Scale.divisor = 1"]) == load_experiment([row])
    assert not any(name.startswith("Scale") for name in resolved(load_experiment([row])))


def test_what_is_written_of_a_scaled_experiment_is_not_scaled_again(write):
    scaled = load_experiment([BASE], ["Scale.divisor = 8"])
    text = to_gin(scaled)
    assert "Scale" not in text
    assert load_experiment([write("again.gin", text)]) == scaled


def test_a_width_that_does_not_divide_is_named_with_its_place(write):
    row = write("row.gin", f'include "{BASE}"\n\nModel.d_k = 30\n')
    scale = write("scale.gin", "# Smaller.\nScale.divisor = 8\n")
    assert error_of([row, scale]) == f"{row}, line 3: Model.d_k = 30: is not divisible by Scale.divisor = 8"
    assert error_of([BASE, scale], ["Model.d_v = 4"]) == (
        "--gin_param=Model.d_v = 4: Model.d_v = 4: is not divisible by Scale.divisor = 8"
    )
    line = BASE.read_text().splitlines().index("Model.d_model = 512") + 1
    assert error_of([BASE], ["Scale.divisor = 3"]) == (
        f"{BASE}, line {line}: Model.d_model = 512: is not divisible by Scale.divisor = 3"
    )


def test_a_width_that_is_wrong_once_divided_is_told_from_the_one_that_was_written(write):
    row = write("row.gin", f'include "{BASE}"\nModel.d_model = 8\n')
    assert error_of([row], ["Scale.divisor = 8"]) == (
        f"{row}, line 2, divided by Scale.divisor = 8: Model.d_model = 1: must be even: sinusoids come in pairs"
    )


@pytest.mark.parametrize("width", ["'64'", "64.0", "True", "None", "0"])
def test_a_width_that_is_no_width_is_refused_as_without_a_scale(width):
    rule = "must be at least 1" if width == "0" else "must be a whole number"
    message = f"--gin_param=Model.d_k = {width}: Model.d_k = {width}: {rule}"
    assert error_of([BASE], [f"Model.d_k = {width}"]) == message
    assert error_of([BASE], [f"Model.d_k = {width}", "Scale.divisor = 8"]) == message


@pytest.mark.parametrize("divisor", ["0", "-1", "2.5", "8.0", "True", "'8'", "None", "(8,)"])
def test_a_divisor_is_a_whole_number_of_at_least_1(divisor, write):
    scale = write("scale.gin", f"# Smaller.\nScale.divisor = {divisor}\n")
    rule = f"Scale.divisor = {divisor}: must be a whole number of at least 1"
    assert error_of([BASE, scale]) == f"{scale}, line 2: {rule}"
    assert error_of([BASE], [f"Scale.divisor = {divisor}"]) == f"--gin_param=Scale.divisor = {divisor}: {rule}"


@pytest.mark.parametrize("name", ["Scale.divisr", "Scale.divisors", "scale.divisor", "Scale.factor"])
def test_a_misspelt_scale_is_refused_and_a_near_one_offered(name):
    hint = "" if name == "Scale.factor" else "; did you mean Scale.divisor?"
    assert error_of([BASE], [f"{name} = 8"]).startswith(f"--gin_param={name} = 8: {name} is no setting{hint}")
