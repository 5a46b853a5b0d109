"""Which parameters there are: how many, which are shared, and where the norms stand."""

import dataclasses
from pathlib import Path

import jax
import numpy as np
import pytest
from random_params import param_shapes

from experiments.gin_bindings import load_experiment
from transformer_jax import config

GIN_CONFIGS = Path(__file__).resolve().parents[2] / "gin_configs"
VOCAB_SIZE = 37


def count(model: config.Model, vocab_size: int = VOCAB_SIZE) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(param_shapes(model, vocab_size)))


def by_formula(model: config.Model, vocab_size: int) -> int:
    """Attention's four matrices, the feed-forward network's two with biases, the norms' pairs, and the tables."""
    d, h = model.d_model, model.num_heads
    attention = 2 * d * h * model.d_k + 2 * d * h * model.d_v
    if model.attention_biases:
        attention += 2 * h * model.d_k + h * model.d_v + d
    feed_forward = 2 * d * model.d_ff + model.d_ff + d
    encoder_layer = attention + feed_forward + 2 * (2 * d)
    decoder_layer = 2 * attention + feed_forward + 3 * (2 * d)
    tables = vocab_size * d * (1 if model.shared_embedding else 3)
    positions = 2 * model.max_length * d if model.positions == "learned" else 0
    final_norms = 2 * (2 * d) if model.pre_norm else 0
    return model.num_layers * (encoder_layer + decoder_layer) + tables + positions + final_norms


def test_counts_follow_the_formula(variant):
    assert count(variant) == by_formula(variant, VOCAB_SIZE)


@pytest.mark.parametrize(
    ("changes", "millions"),
    [
        ({}, 63.046),
        ({"d_k": 16}, 55.968),
        ({"num_layers": 2}, 33.645),
        ({"d_model": 1024, "d_ff": 4096, "num_heads": 16}, 214.172),
    ],
    ids=["base", "B d_k 16", "C N 2", "big"],
)
def test_rows_of_table_3_have_the_paper_s_sizes(changes, millions):
    """With the text's vocabulary of about 37,000; without biases, as in the formulas of section 3.2.2."""
    base = load_experiment([GIN_CONFIGS / "base.gin"])
    row = dataclasses.replace(base.model, **changes)
    assert count(row, base.data.vocab_size) / 1e6 == pytest.approx(millions, abs=5e-4)


def test_the_multi30k_model_has_the_published_size():
    experiment = load_experiment([GIN_CONFIGS / "multi30k" / "tiny.gin"])
    assert count(experiment.model, experiment.data.vocab_size) == 2_568_192


@pytest.mark.parametrize(
    ("shared", "tables"),
    [(True, ["source_embedding"]), (False, ["softmax", "source_embedding", "target_embedding"])],
)
def test_one_table_or_three(shared, tables, small_model):
    shapes = param_shapes(dataclasses.replace(small_model, shared_embedding=shared), VOCAB_SIZE)
    assert sorted(set(shapes) - {"encoder", "decoder"}) == tables
    assert all(shapes[name]["table"].shape == (VOCAB_SIZE, 14) for name in tables)


def test_writing_to_the_shared_table_changes_source_target_and_logits(small_model, build):
    model, variables = build(dataclasses.replace(small_model, num_layers=1))
    written = jax.tree_util.tree_map(lambda leaf: leaf, variables)
    table = written["params"]["source_embedding"]["table"]
    written["params"]["source_embedding"]["table"] = table.at[5].add(1.0)

    @jax.jit
    def logits(variables, source, target):
        return model.apply(variables, source, target, deterministic=True)

    def changed(source, target):
        before, after = (logits(v, np.array([source]), np.array([target])) for v in (variables, written))
        return np.abs(after - before).max(axis=0) > 1e-6

    neither = changed([7, 2], [9, 2])
    assert neither[:, 5].all(), "the softmax's row of token 5"
    assert not np.delete(neither, 5, axis=1).any()
    assert changed([5, 2], [9, 2]).all(), "the source's embedding reaches every logit"
    in_target = changed([7, 2], [5, 2])
    assert not np.delete(in_target[0], 5).any(), "the first logits know the begin token alone"
    assert in_target[1].all()


@pytest.mark.parametrize("pre_norm", [False, True])
def test_a_stack_ends_with_a_norm_of_its_own_only_with_pre_norm(pre_norm, small_model):
    shapes = param_shapes(dataclasses.replace(small_model, pre_norm=pre_norm), VOCAB_SIZE)
    for stack, norms_a_layer in (("encoder", 2), ("decoder", 3)):
        paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(shapes[stack])]
        scales = [path for path in paths if path[-1].key == "scale"]
        outside_layers = [path for path in scales if not path[0].key.startswith("layers_")]
        assert [path[0].key for path in outside_layers] == (["final_norm"] if pre_norm else [])
        assert len(scales) - len(outside_layers) == norms_a_layer * small_model.num_layers


def test_every_layer_has_parameters_of_its_own(small_model):
    shapes = param_shapes(dataclasses.replace(small_model, num_layers=3), VOCAB_SIZE)
    for stack in ("encoder", "decoder"):
        assert sorted(shapes[stack]) == ["layers_0", "layers_1", "layers_2"]
