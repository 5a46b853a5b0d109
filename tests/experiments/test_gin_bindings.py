"""Bindings in, one experiment out; whatever is wrong is one line that says where."""

from pathlib import Path

import pytest

from experiments.gin_bindings import load_experiment, resolved, to_gin
from transformer_jax.checked import ConfigError

BASE = Path(__file__).resolve().parents[2] / "gin_configs" / "base.gin"


pytestmark = pytest.mark.usefixtures("unchecked_types")


@pytest.fixture
def write(tmp_path):
    """`write(name, text)`: a file that a test may include or load."""

    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


def error_of(gin_files, gin_params=()) -> str:
    with pytest.raises(ConfigError) as raised:
        load_experiment(gin_files, gin_params)
    message = str(raised.value)
    assert len(message.splitlines()) == 1
    assert "0x" not in message, "an object's address"
    return message


def test_the_last_binding_holds(write):
    changes = write("changes.gin", "Model.num_heads = 4\nModel.d_k = 16\nModel.d_k = 32\nTraining.seed = 2\n")
    experiment = load_experiment([BASE, changes], ["Training.seed = 3", "Training.seed = 5\nTraining.num_steps = 7"])
    assert (experiment.model.num_heads, experiment.model.d_k, experiment.model.d_v) == (4, 32, 64)
    assert (experiment.training.seed, experiment.training.num_steps) == (5, 7)
    assert load_experiment([changes, BASE]).model.d_k == 64


def test_an_include_stands_in_its_place(write):
    included = write("included.gin", "Training.seed = 2\nModel.d_k = 2\n")
    first = write("first.gin", 'include "included.gin"\nModel.d_k = 3\n')
    last = write("last.gin", 'Model.d_k = 3\ninclude "included.gin"\n')
    assert [load_experiment([BASE, path]).model.d_k for path in (included, first, last)] == [2, 3, 2]
    assert load_experiment([BASE, first]).training.seed == 2


def test_includes_are_relative_to_the_file_that_says_so(write, tmp_path, monkeypatch):
    write("shared/d_k.gin", "Model.d_k = 5\n")
    write("shared/both.gin", 'include "d_k.gin"\nModel.d_v = 7\n')
    path = write("rows/row.gin", 'include "../shared/both.gin"\n')
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for named in (path, Path("../rows/row.gin"), "../rows/row.gin"):
        model = load_experiment([BASE, named]).model
        assert (model.d_k, model.d_v) == (5, 7)
    assert load_experiment([BASE, write("absolute.gin", f"include {str(path)!r}\n")]).model.d_k == 5


def test_a_file_may_be_included_twice(write):
    write("d_k.gin", "Model.d_k = 5\n")
    path = write("twice.gin", 'include "d_k.gin"\nModel.d_k = 3\ninclude "d_k.gin"\n')
    assert load_experiment([BASE, path]).model.d_k == 5


def test_all_kinds_of_values(write):
    text = """
# A comment, and blank lines.
Data.train = (
    "a.en",  # on several lines
    'a.de',
)
Data.dev = ("b." "en", "b.de")
Optimizer.epsilon = 1e-7
Optimizer.max_gradient_norm = 25
Model.pre_norm = True  # a comment
Training.patience = None"""
    experiment = load_experiment([BASE, write("values.gin", text)])
    assert experiment.data.train == ("a.en", "a.de")
    assert experiment.data.dev == ("b.en", "b.de")
    assert (experiment.optimizer.epsilon, experiment.optimizer.max_gradient_norm) == (1e-7, 25)
    assert experiment.model.pre_norm is True
    assert experiment.training.patience is None


def test_what_is_written_reads_back_the_same(write):
    awkward = """Data.directory = "it's a \\"folder\\" \\\\ with ümläuts, # and @x %y\\n"
Data.train = ("a b.en", "c'd.de")
Optimizer.learning_rate_scale = 2.5298221
Training.checkpoint_every_minutes = 0.1
Training.patience = 3
"""
    experiment = load_experiment([BASE, write("awkward.gin", awkward)])
    again = load_experiment([write("again.gin", to_gin(experiment))])
    assert again == experiment
    assert again.data.directory == """it's a "folder" \\ with ümläuts, # and @x %y\n"""
    assert to_gin(again) == to_gin(experiment)
    assert len(to_gin(experiment).splitlines()) == len(resolved(experiment))


def test_resolved_names_every_setting():
    settings = resolved(load_experiment([BASE]))
    assert (settings["Model.d_ff"], settings["Scoring.bleu_tokenizer"]) == (2048, "13a")
    assert settings["Data.train"] == "tfds:wmt14_translate/de-en:train"


def test_a_misspelt_name_is_refused_and_a_near_one_offered(write):
    path = write("wrong.gin", "Model.d_k = 3\n\nModel.num_head = 3\n")
    assert error_of([BASE, path]) == f"{path}, line 3: Model.num_head is no setting; did you mean Model.num_heads?"
    assert error_of([BASE], ["model.d_k = 3"]) == (
        "--gin_param=model.d_k = 3: model.d_k is no setting; did you mean Model.d_k?"
    )
    assert error_of([BASE], ["Zebra.stripes = 3"]).endswith(": Zebra.stripes is no setting")
    assert error_of([BASE], ["x = 3"]).endswith(": x is no setting")
    assert ": Model is no setting" in error_of([BASE], ["Model = 3"])
    assert "is no setting" in error_of([BASE], ["transformer_jax.config.Model.d_k = 3"])


def test_a_misspelt_name_is_refused_even_where_a_later_file_would_set_it_right(write):
    wrong, right = write("wrong.gin", "Model.dk = 3\n"), write("right.gin", "Model.d_k = 3\n")
    assert error_of([BASE, wrong, right]).startswith(f"{wrong}, line 1: ")


def test_a_wrong_type_names_the_file_that_said_so(write):
    path = write("wrong.gin", '# Text.\nModel.d_k = "64"\nModel.d_v = 64\n')
    assert error_of([BASE, path]) == f"{path}, line 2: Model.d_k = '64': must be a whole number"
    assert load_experiment([BASE, path], ["Model.d_k = 64"]).model.d_k == 64
    including = write("including.gin", 'Model.d_v = 3\ninclude "wrong.gin"\n')
    assert error_of([BASE, including]).startswith(f"{path}, line 2: Model.d_k")
    assert error_of([BASE], ["Model.dropout_rate = 1.5"]) == (
        "--gin_param=Model.dropout_rate = 1.5: Model.dropout_rate = 1.5: must be in [0, 1)"
    )


def test_settings_that_contradict_each_other_name_the_place_too(write):
    path = write("wrong.gin", "\nTraining.keep_checkpoints = 2\n")
    assert error_of([BASE, path]) == (
        f"{path}, line 2: Training.keep_checkpoints = 2: must be at least Decoding.average_checkpoints = 5"
    )


def test_unset_settings_are_all_named(write):
    text = "".join(line for line in BASE.read_text().splitlines(keepends=True) if "Model.d_" not in line)
    message = error_of([write("short.gin", text)])
    assert message == "not set by any file or binding: Model.d_model, Model.d_ff, Model.d_k, Model.d_v"
    assert "Model.num_layers, " in error_of([])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Model.d_k = @jax.devices()", "@jax.devices(): a value must be a literal, not a reference"),
        ("Model.d_k = @jax.devices", "@jax.devices: a value must be a literal, not a reference"),
        ("Data.train = ('a', @os.remove())", "@os.remove(): a value must be a literal, not a reference"),
        ("Model.d_k = %WIDTH", "%WIDTH: a value must be a literal, not a macro"),
        ("WIDTH = 64", "WIDTH is no setting"),
        ("import os", "only `include` and bindings such as `Model.d_model = 512` may stand here"),
        ("from os import path", "only `include` and bindings such as `Model.d_model = 512` may stand here"),
        ("encoder/Model.d_k = 3", "encoder/Model.d_k is no setting; did you mean Model.d_k?"),
        ("Model:\n    d_k = 3", "only `include` and bindings such as `Model.d_model = 512` may stand here"),
        ("Model.d_k = ", "Unable to parse value."),
        ("Model.d_k = 3 4", "Expected newline."),
        ("Model.d_k 3", "Couldn't parse statement, expected ':' or '='."),
        ("Model.d_k", "Couldn't parse statement, expected ':' or '='."),
        ("= 3", "Unexpected token."),
        ("Model..d_k = 3", "Malformatted scope or selector."),
        ("Model .d_k = 3", "Malformatted scope or selector."),
        ("Model.d_k = sixty", "Failed to parse token 'sixty'"),
        ("Model.d_k = 2 * 32", "Expected newline."),
        ("Data.train = ('a', 'b'", "EOF in multi-line statement"),
        ("Data.train = '''a", "EOF in multi-line string"),
        ("Model.d_k = {[1]: 2}", "unhashable type: 'list'"),
        ("Model.d_k = $3", "Unable to parse value."),
        ("include 3", "Expected file path as string."),
        ("include base.gin", "Failed to parse token 'base'"),
    ],
)
def test_what_is_no_binding_is_refused_in_one_line(write, text, reason):
    path = write("wrong.gin", f"Training.seed = 2  # fine\n\n{text}\n")
    assert error_of([BASE, path]) == f"{path}, line 3: {reason}"


def test_wrong_indentation_is_one_line(write):
    path = write("wrong.gin", "Training.seed = 2\n    Model.d_k = 2\n  Model.d_v = 2\n")
    assert error_of([BASE, path]) == f"{path}, line 3: unindent does not match any outer indentation level"


@pytest.mark.parametrize("param", ["Model.d_k = ", "Model.d_k = @f()", "Model.d_k = %f", "'''", "import os"])
def test_a_wrong_parameter_is_named_whole(param):
    assert error_of([BASE], [param]).startswith(f"--gin_param={param}: ")


def test_a_parameter_cannot_include():
    assert error_of([BASE], ["include 'x.gin'"]).endswith(
        ": only bindings such as `Model.d_model = 512` may stand here"
    )


def test_a_missing_file_is_named_with_the_one_that_includes_it(write, tmp_path):
    absent = tmp_path / "absent.gin"
    assert error_of([absent]) == f"{absent}: No such file or directory"
    path = write("including.gin", 'Model.d_k = 3\ninclude "absent.gin"\n')
    assert error_of([BASE, path]) == f"{absent} (included by {path}): No such file or directory"
    assert error_of([tmp_path]) == f"{tmp_path}: Is a directory"


def test_a_circle_of_includes_is_refused(write, tmp_path, monkeypatch):
    first = write("first.gin", 'include "sub/second.gin"\n')
    second = write("sub/second.gin", 'include "../first.gin"\n')
    itself = write("itself.gin", 'include "itself.gin"\n')
    assert error_of([BASE, first]) == f"{second.parent / '../first.gin'} (included by {second}): includes itself"
    assert error_of([BASE, itself]) == f"{itself} (included by {itself}): includes itself"
    monkeypatch.chdir(tmp_path)
    assert error_of([BASE, "itself.gin"]) == "itself.gin (included by itself.gin): includes itself"


def test_other_encodings_are_named(tmp_path):
    path = tmp_path / "latin.gin"
    path.write_bytes("# für\n".encode("latin-1"))
    assert error_of([BASE, path]) == f"{path}: not UTF-8"
