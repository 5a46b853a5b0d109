"""The configs of Table 4: the paper's are the base model with what section 6.3 says, and all of them are frozen."""

from pathlib import Path

import pytest

from experiments import paper
from experiments.gin_bindings import load_experiment, resolved
from transformer_jax.config import corpus_parts
from transformer_jax.data.tree_pairs import is_of_trees

CONFIGS = Path(__file__).resolve().parents[1] / "gin_configs"
SECTIONS = tuple((f"trees:wsj/{section:02}",) for section in range(2, 22))
# Section 6.3. Dropout, rate, warm-up, longest training pair are the authors' code's; keys of 128 follow from 8 heads.
WSJ_ONLY = {
    "Model.num_layers": 4,
    "Model.d_model": 1024,
    "Model.d_k": 128,
    "Model.d_v": 128,
    "Model.dropout_rate": 0.2,
    "Model.attention_dropout_rate": 0.2,
    "Data.target_language": "trees",
    "Data.train": SECTIONS,
    "Data.dev": "trees:wsj/22",
    "Data.test": "trees:wsj/23",
    "Data.directory": "data/penn_treebank",
    "Data.vocab_size": 16_000,
    "Data.merge_across_scripts": True,
    "Data.max_train_length": 512,
    "Optimizer.warmup_steps": 16_000,
    "Optimizer.learning_rate_scale": 5.0,
    "Decoding.beam_size": 21,
    "Decoding.length_penalty": 0.3,
    "Decoding.max_extra_length": 300,
}
# Not bound, so the base model's.
_OF_THE_CODE = ("Model.dropout_rate", "Model.attention_dropout_rate", "Optimizer.warmup_steps")
SEMI_SUPERVISED = {name: value for name, value in WSJ_ONLY.items() if name not in _OF_THE_CODE} | {
    "Data.train": (*SECTIONS, ("trees:silver.trees",)),
    "Data.vocab_size": 32_000,
}
SMALL = {
    "Model.d_model": 128,
    "Model.d_ff": 512,
    "Model.num_heads": 4,
    "Model.d_k": 32,
    "Model.d_v": 32,
    "Data.target_language": "trees",
    "Data.merge_across_scripts": True,
    "Training.keep_checkpoints": 5,
    "Decoding.length_penalty": 0.3,
    "Decoding.max_extra_length": 300,
    "Decoding.constrained_to_trees": True,
}
GENIA_SMALL = SMALL | {
    "Decoding.constrained_to_inventory": True,
    "Model.num_layers": 4,
    "Model.attention_dropout_rate": 0.1,
    "Training.num_steps": 24_000,
    "Data.train": "trees:train.trees.gz",
    "Data.dev": "trees:dev.trees.gz",
    "Data.test": "trees:test.trees.gz",
    "Data.directory": "data/treebank/genia",
    "Data.vocab_size": 4_000,
    "Batching.tokens_per_batch": 4_096,
    "Batching.tokens_per_device": 4_096,
    "Batching.num_shapes": 8,
    "Optimizer.warmup_steps": 1_000,
    "Training.evaluate_every_steps": 500,
    "Training.checkpoint_every_steps": 250,
}
BUILTIN = SMALL | {
    "Model.num_layers": 2,
    "Training.num_steps": 2_000,
    "Data.train": "trees:builtin:train",
    "Data.dev": "trees:builtin:dev",
    "Data.test": "trees:builtin:test",
    "Data.vocab_size": 400,
    "Batching.tokens_per_batch": 2_048,
    "Batching.tokens_per_device": 2_048,
    "Batching.num_shapes": 4,
    "Optimizer.warmup_steps": 800,
    "Training.evaluate_every_steps": 500,
    "Training.checkpoint_every_steps": 100,
}
CHANGES = {
    "wsj_only": WSJ_ONLY,
    "semi_supervised": SEMI_SUPERVISED,
    "genia_small": GENIA_SMALL,
    "builtin": BUILTIN,
}


pytestmark = pytest.mark.usefixtures("unchecked_types")


@pytest.mark.parametrize("name", CHANGES)
def test_a_config_of_table_4_changes_just_this_of_the_base_model(name):
    base, run = (resolved(load_experiment([CONFIGS / path])) for path in ("base.gin", f"table4/{name}.gin"))
    assert {setting: value for setting, value in run.items() if value != base[setting]} == CHANGES[name]


def test_there_is_no_other_config():
    assert {path.stem for path in (CONFIGS / "table4").glob("*.gin")} == CHANGES.keys()


@pytest.mark.parametrize("name", CHANGES)
def test_every_split_is_of_trees(name):
    data = load_experiment([CONFIGS / "table4" / f"{name}.gin"]).data
    assert all(is_of_trees(getattr(data, split)) for split in ("train", "dev", "test"))


def test_the_paper_s_splits():
    """Sections 2 to 21 are trained on, which is not in the paper but everybody's; 22 and 23 are."""
    data = load_experiment([CONFIGS / "table4" / "wsj_only.gin"]).data
    sections = [int(part[0][-2:]) for part in corpus_parts(data.train)]
    assert sections == [*range(2, 22)]


@pytest.mark.parametrize("name", paper.TABLE_4_OURS)
def test_the_paper_s_configs_open_with_their_row(name):
    row = paper.TABLE_4_OURS[name]
    first = (CONFIGS / "table4" / f"{name}.gin").read_text(encoding="utf-8").splitlines()[0]
    assert first == f"# Table 4, {row.training}: F1 {row.f1} on section 23."
    assert row.name == "Transformer (4 layers)"


@pytest.mark.parametrize("name", paper.TABLE_4_OURS)
def test_what_the_paper_does_not_say_is_said_to_be_so(name):
    """Every line that is bound is either the paper's or says whose it is."""
    of_the_paper = {"Model.num_layers", "Model.d_model", "Data.source_language", "Data.dev", "Data.test", "Data.train",
                    "Data.vocab_size", "Decoding.beam_size", "Decoding.length_penalty",
                    "Decoding.max_extra_length"}  # fmt: skip
    for line in (CONFIGS / "table4" / f"{name}.gin").read_text(encoding="utf-8").splitlines():
        setting, is_bound, rest = line.partition(" = ")
        if is_bound and setting not in of_the_paper and not setting.startswith(("#", " ")):
            assert any(told in rest for told in ("not in the paper", "authors' code", "ours", "the same")), line


def test_keys_and_values_share_d_model_between_the_heads():
    for name in CHANGES:
        model = load_experiment([CONFIGS / "table4" / f"{name}.gin"]).model
        assert model.num_heads * model.d_k == model.num_heads * model.d_v == model.d_model
