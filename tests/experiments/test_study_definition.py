"""Definitions of sweeps: what cannot be searched is refused before anything is trained, and why is said."""

import re

import pytest
from toy_sweep import FILES, GIN_CONFIGS, definition

from experiments.study.definition import load_definition
from experiments.workdir import WorkdirError, claim
from transformer_jax.checked import ConfigError

SWEEPS = GIN_CONFIGS / "sweeps"
POINT = {"Model.dropout_rate": 0.25, "Optimizer.warmup_steps": 9}


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ('sweep/Model.drop = ("uniform", 0.0, 0.4)', r"Model.drop is no setting; did you mean Model."),
        ("Model.dropout = 0.1", r"Model.dropout is no setting; did you mean Model.dropout_rate\?"),
        ('sweeps/Model.d_k = ("integer", 1, 2)', r"sweeps/Model.d_k is no setting; did you mean Model.d_k\?"),
        ("Sweep.trial = 3", r"Sweep.trial is no setting; did you mean Sweep.trials\?"),
        ("Sweep.trials = 0", r"Sweep.trials = 0: must be at least 1"),
        ('Sweep.sampler = "annealing"', r"Sweep.sampler = 'annealing': must be one of 'tpe', "),
        ('Sweep.metric = "loss"', r"Sweep.metric = 'loss': must be one of 'bleu', "),
        ('sweep/Model.attention_dropout_rate = ("uniform", 0.0, 1.0)',
         r"sweep/Model.attention_dropout_rate cannot be 1.0: .*: must be in \[0, 1\)"),
        ('sweep/Model.positions = ("choice", "learned", "sines")',
         r"sweep/Model.positions cannot be 'sines': .*: must be one of 'sinusoidal', "),
        ('sweep/heads = ("choice", {"Model.num_heads": 0}, {"Model.num_heads": 1})',
         r"sweep/heads cannot be 'num_heads 0': .*Model.num_heads = 0: must be at least 1"),
        ('sweep/Training.seed = ("integer", 1, 5)', r"Training.seed cannot be swept: it is what Sweep.seeds repeats"),
        ('sweep/Training.log_every_steps = ("integer", 1, 5)', r"cannot be swept: no score depends on it"),
        ('sweep/Data.test = ("choice", "a.tsv", "b.tsv")', r"cannot be swept: trials are scored on the dev set"),
        ('sweep/Data.dev = ("choice", "a.tsv", "b.tsv")', r"cannot be swept: trials would be scored on different text"),
        ('sweep/Scoring.bleu_tokenizer = ("choice", "13a", "intl")', r"cannot be swept: .* different metrics"),
        ('sweep/more = ("choice", {"Model.d_ff": 8, "Training.seed": 2}, {})', r"Training.seed cannot be swept"),
        ('sweep/more = ("choice", {"Model.dropout_rate": 0.2}, {})',
         r"Model.dropout_rate varies in sweep/Model.dropout_rate already"),
        ('Sweep.sampler = "grid"', r"sweep/Model.dropout_rate = .*: a grid needs \"choice\", "),
        ("Training.keep_checkpoints = 1", r"no point of the space is an experiment: .*keep_checkpoints = 1: must be"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("unchecked_types")
def test_what_cannot_be_searched_is_refused_with_the_reason(said, reason):
    with pytest.raises(ConfigError) as caught:
        definition(said)
    assert re.search(reason, str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("setting", "metric", "pruner", "refused"),
    [
        ("Decoding.beam_size", "perplexity_per_piece", "none", "for which nothing is decoded"),
        ("Decoding.average_checkpoints", "perplexity_per_piece", "none", None),
        ("Decoding.beam_size", "bleu", "median", None),
        ("Data.vocab_size", "perplexity_per_piece", "none", "different vocabularies cannot be compared"),
        ("Data.vocab_size", "bleu", "median", "different vocabularies cannot be compared"),
        ("Data.vocab_size", "bleu", "none", None),
    ],
)
def test_a_setting_that_the_metric_does_not_depend_on_or_that_changes_it_is_refused(setting, metric, pruner, refused):
    said = f'sweep/{setting} = ("integer", 10, 12)', f'Sweep.metric = "{metric}"', f'Sweep.pruner = "{pruner}"'
    if refused is None:
        assert definition(*said).space[-1].name == setting
        return
    with pytest.raises(ConfigError, match=f"{setting} cannot be swept: .*{refused}"):
        definition(*said)


def test_a_sweep_needs_something_that_varies():
    with pytest.raises(ConfigError, match="nothing varies: say sweep/"):
        load_definition(FILES, [])


def test_widths_are_scaled_wherever_they_are_said():
    scaled = definition("Scale.divisor = 4", 'sweep/Model.d_model = ("choice", 512, 1024)')
    models = [scaled.experiment(POINT | {"Model.d_model": width}, seed=1).model for width in (512, 1024)]
    assert [(model.d_model, model.d_ff) for model in models] == [(128, 512), (256, 512)]


def test_a_point_and_a_seed_are_an_experiment():
    made = definition("Training.seed = 77").experiment(
        {"Model.dropout_rate": 0.25, "Optimizer.warmup_steps": 9}, seed=3
    )
    assert (made.model.dropout_rate, made.optimizer.warmup_steps, made.training.seed) == (0.25, 9, 3)
    assert made.model.d_model == 512


def trained(folder):
    claim(folder, definition("Decoding.beam_size = 7").experiment(POINT, seed=5), accept_changes=False)
    return f'Sweep.trained = "{folder}"'


def test_decoding_alone_has_the_settings_of_the_run_that_it_decodes_with(tmp_path):
    swept = load_definition([SWEEPS / "decoding.gin"], [trained(tmp_path / "run"), "Decoding.max_extra_length = 5"])
    assert len(swept.points) == 6 * 7
    assert swept.seeds == [5], "that of its weights"
    made = swept.experiment(swept.points[-1], *swept.seeds)
    assert (made.decoding.beam_size, made.decoding.length_penalty, made.decoding.max_extra_length) == (32, 1.2, 5)
    assert (made.model.dropout_rate, made.optimizer.warmup_steps) == (0.25, 9)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ('sweep/Model.d_ff = ("choice", 8, 9)', "Model.d_ff cannot be swept: nothing is trained"),
        ("Model.d_model = 256", "Model.d_model is what Sweep.trained was trained with: leave it out"),
        ('Sweep.pruner = "median"', 'Sweep.pruner = \'median\': must be "none" where Sweep.trained is given'),
        ("Sweep.seeds = 2", "Sweep.seeds = 2: must be 1 where Sweep.trained is given"),
    ],
)  # fmt: skip
def test_decoding_alone_cannot_change_what_was_trained(tmp_path, said, reason):
    with pytest.raises(ConfigError, match=re.escape(reason)):
        load_definition([SWEEPS / "decoding.gin"], [trained(tmp_path / "run"), said])


def test_decoding_alone_needs_a_run(tmp_path):
    with pytest.raises(WorkdirError, match="nowhere holds no run"):
        load_definition([SWEEPS / "decoding.gin"], [f'Sweep.trained = "{tmp_path / "nowhere"}"'])


@pytest.mark.parametrize("path", sorted(SWEEPS.glob("*.gin")), ids=lambda path: path.stem)
def test_every_config_of_a_sweep_is_one(path, tmp_path):
    if path.stem == "sweep":
        with pytest.raises(ConfigError, match="nothing varies"):
            load_definition([path], [])
        return
    more = [trained(tmp_path / "run")] if path.stem == "decoding" else []
    swept = load_definition([path], more)
    assert swept.points is None or len(swept.points) == swept.sweep.trials, "a grid is tried to its end"
