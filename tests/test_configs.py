"""Every config of the project loads, and those that stand for a publication keep its values."""

import re
from collections import Counter
from pathlib import Path

import pytest

from experiments.gin_bindings import load_experiment, resolved

CONFIGS = Path(__file__).resolve().parents[1] / "gin_configs"
# A sweep's are no single experiment: tests/experiments/test_study_definition.py.
PATHS = sorted(path for path in CONFIGS.rglob("*.gin") if path.parent.name != "sweeps")

# From the paper: Table 3's base row in the order of its columns, then section by section. What the paper leaves open
# ("about", "approximately", not said) is the authors' code's or ours, and frozen all the same.
BASE = {
    "Model.num_layers": 6,
    "Model.d_model": 512,
    "Model.d_ff": 2048,
    "Model.num_heads": 8,
    "Model.d_k": 64,
    "Model.d_v": 64,
    "Model.dropout_rate": 0.1,
    "Training.label_smoothing": 0.1,
    "Training.num_steps": 100_000,
    "Model.attention_dropout_rate": 0.0,
    "Model.feed_forward_dropout_rate": 0.0,
    "Model.encoder_neighbourhood": None,
    "Model.decoder_neighbourhood": None,
    "Model.positions": "sinusoidal",
    "Model.max_length": 512,
    "Model.pre_norm": False,
    "Model.attention_biases": False,
    "Model.shared_embedding": True,
    "Model.layer_norm_epsilon": 1e-6,
    "Model.compute_dtype": "float32",
    "Model.rematerialise": "nothing",
    "Data.source_language": "en",
    "Data.target_language": "de",
    "Data.train": "tfds:wmt14_translate/de-en:train",
    "Data.dev": "tfds:wmt14_translate/de-en:validation",
    "Data.test": "tfds:wmt14_translate/de-en:test",
    "Data.directory": "",
    "Data.vocabulary": "bpe",
    "Data.vocab_size": 37_000,
    "Data.vocab_sample": 1_000_000,
    "Data.merge_across_scripts": False,
    "Data.max_train_length": 256,
    "Data.cache_directory": "~/.cache/transformer_jax",
    "Cleaning.empty": False,
    "Cleaning.identical": False,
    "Cleaning.max_words": None,
    "Cleaning.max_length_ratio": None,
    "Cleaning.duplicate": False,
    "Batching.tokens_per_batch": 25_000,
    "Batching.tokens_per_device": 3_125,
    "Batching.num_shapes": 16,
    "Optimizer.beta1": 0.9,
    "Optimizer.beta2": 0.98,
    "Optimizer.epsilon": 1e-9,
    "Optimizer.warmup_steps": 4_000,
    "Optimizer.learning_rate_scale": 1.0,
    "Optimizer.max_gradient_norm": None,
    "Training.label_smoothing_over": "others",
    "Training.seed": 1,
    "Training.random_bits": "threefry2x32",
    "Training.deterministic": False,
    "Training.log_every_steps": 100,
    "Training.evaluate_every_steps": 1_500,
    "Training.patience": None,
    "Training.checkpoint_every_steps": 1_500,
    "Training.checkpoint_every_minutes": None,
    "Training.keep_checkpoints": 20,
    "Training.skip_non_finite": 0,
    "Decoding.average_checkpoints": 5,
    "Decoding.beam_size": 4,
    "Decoding.length_penalty": 0.6,
    "Decoding.length_penalty_offset": 5.0,
    "Decoding.stop": "bound",
    "Decoding.max_length_ratio": 1.0,
    "Decoding.max_extra_length": 50,
    "Decoding.min_length_ratio": 0.0,
    "Decoding.constrained_to_trees": False,
    "Decoding.constrained_to_inventory": False,
    "Decoding.sampling_temperature": None,
    "Decoding.sampling_top_k": None,
    "Decoding.sampling_nucleus": None,
    "Decoding.sampling_seed": 1,
    "Decoding.tokens_per_batch": 8_192,
    "Scoring.bleu_tokenizer": "13a",
    "Scoring.test_rows": None,
    "Scoring.bracketing_parameters": None,
    "Trees.remove_traces": True,
    "Trees.remove_function_labels": True,
    "Trees.collapse_unary_loops": False,
    "Trees.leaves": "tags",
}

# The published protocol of "Transformer-tiny" on Multi30k (Wu et al. 2021): all that it changes of the base model.
MULTI30K_TINY = {
    "Model.num_layers": 4,
    "Model.d_model": 128,
    "Model.d_ff": 256,
    "Model.num_heads": 4,
    "Model.d_k": 32,
    "Model.d_v": 32,
    "Model.dropout_rate": 0.3,
    "Model.attention_biases": True,
    "Training.num_steps": 8_000,
    "Training.patience": 10,
    "Data.vocabulary": "subword-nmt:../bpe10k/codes.en-de",
    "Data.vocab_size": 9_712,
    "Batching.tokens_per_batch": 8_192,
    "Optimizer.epsilon": 1e-8,
    "Optimizer.warmup_steps": 2_000,
    "Optimizer.max_gradient_norm": 25.0,
    "Decoding.average_checkpoints": 10,
    "Decoding.beam_size": 5,
    "Decoding.length_penalty": 1.0,
    "Decoding.length_penalty_offset": 0.0,
    "Scoring.bleu_tokenizer": "none",
}
# Ours to choose: where the text is, how batches are shaped, when something is written.
MULTI30K_HOUSEKEEPING = {
    "Data.train",
    "Data.dev",
    "Data.test",
    "Data.directory",
    "Batching.tokens_per_device",
    "Batching.num_shapes",
    "Optimizer.learning_rate_scale",
    "Training.log_every_steps",
    "Training.evaluate_every_steps",
    "Training.checkpoint_every_steps",
    "Training.keep_checkpoints",
}


pytestmark = pytest.mark.usefixtures("unchecked_types")


def bound_names(path: Path) -> list[str]:
    """What a gin file itself binds, in order."""
    return re.findall(r"^(\w+\.\w+) *=", path.read_text(), re.MULTILINE)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.relative_to(CONFIGS).as_posix())
def test_every_config_loads(path):
    """By itself; what lies in `data/` is for others to include, what lies in `scale/` goes on top of a row of Table 3,
    and neither says anything of a model. What lies in `deviations/` goes on top of any."""
    base, row = CONFIGS / "base.gin", CONFIGS / "table3" / "base.gin"
    below = {"data": [base], "deviations": [base], "scale": [row]}.get(path.parent.name, [])
    assert resolved(load_experiment([*below, path])).keys() == BASE.keys()
    parts = {name.split(".")[0] for name in bound_names(path)}
    if path.parent.name == "data":
        assert parts == {"Data"}
    if path.parent.name == "scale":
        assert "Model" not in parts


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.relative_to(CONFIGS).as_posix())
def test_no_config_binds_a_setting_twice(path):
    assert [name for name, times in Counter(bound_names(path)).items() if times > 1] == []


def test_the_base_model_is_the_papers():
    assert resolved(load_experiment([CONFIGS / "base.gin"])) == BASE


def test_the_base_model_says_everything_in_table_3s_order():
    """One screen that shows all: nothing is included, nothing left out, the table's columns come first."""
    names = bound_names(CONFIGS / "base.gin")
    assert sorted(names) == sorted(BASE)
    assert names[:9] == list(BASE)[:9]
    assert "include" not in (CONFIGS / "base.gin").read_text()


def test_multi30k_tiny_is_the_published_protocol():
    tiny = resolved(load_experiment([CONFIGS / "multi30k" / "tiny.gin"]))
    changed = {name: value for name, value in tiny.items() if value != BASE[name] and name not in MULTI30K_HOUSEKEEPING}
    assert changed == MULTI30K_TINY
    peak = tiny["Optimizer.learning_rate_scale"] * 128**-0.5 * 2_000**-0.5
    assert peak == pytest.approx(0.005, rel=1e-7)


def test_the_papers_dimensions_are_consistent():
    """d_k = d_v = d_model / h in every row of Table 3 but those that vary d_k; here, in the base model."""
    assert BASE["Model.num_heads"] * BASE["Model.d_k"] == BASE["Model.num_heads"] * BASE["Model.d_v"] == 512
    assert BASE["Batching.tokens_per_device"] * 8 == BASE["Batching.tokens_per_batch"]
