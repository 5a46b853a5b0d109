"""Layers that are compiled once and applied N times, against the same layers one by one."""

import dataclasses
import typing

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from transformer_jax.config import Rematerialise
from transformer_jax.model.dropout import Dropout
from transformer_jax.model.layers import DecoderLayer, EncoderLayer
from transformer_jax.model.masks import causal_mask, padding_mask
from transformer_jax.model.stack import apply_layers

SOURCE = jnp.array([[7, 11, 5, 29, 2], [3, 36, 2, 0, 0]])
TARGET = jnp.array([[13, 4, 2], [31, 8, 2]])
CHOICES = typing.get_args(Rematerialise)


def embedded(seed, length, d_model):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(2, length, d_model)), jnp.float32)


@pytest.mark.parametrize("rematerialise", ["nothing", "layers"])
@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_a_stack_is_its_layers_one_by_one_in_their_order(stack, rematerialise, small_model, build):
    model, variables = build(dataclasses.replace(small_model, num_layers=3, rematerialise=rematerialise))
    params, mask = variables["params"][stack], padding_mask(SOURCE)
    x, encoded = embedded(1, 3, small_model.d_model), embedded(2, 5, small_model.d_model)
    inputs = {"encoder": (encoded, mask), "decoder": (x, encoded, mask)}[stack]
    found, weights = model.apply(variables, method=lambda bound: getattr(bound, stack)(*inputs, deterministic=True))
    layer = {"encoder": EncoderLayer, "decoder": DecoderLayer}[stack](small_model)
    read = (mask,) if stack == "encoder" else (causal_mask(3), encoded, mask)
    y = inputs[0] + model.apply(
        variables, method=lambda bound: getattr(bound, stack).positions.first(inputs[0].shape[1])
    )
    for i in range(3):
        y, own = layer.apply({"params": params[f"layers_{i}"]}, y, *read, deterministic=True)
        of_layer = jax.tree.map(lambda leaf, i=i: leaf[i], weights)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), of_layer, own)
    np.testing.assert_allclose(found, y, atol=1e-5)


def gradient(model, *, deterministic):
    """Of a number that depends on every logit."""
    weights = jnp.asarray(np.random.default_rng(3).normal(size=(2, 3, 37)), jnp.float32)

    def number(params):
        rngs = {"dropout": jax.random.key(5)}
        logits = model.apply({"params": params}, SOURCE, TARGET, deterministic=deterministic, rngs=rngs)
        return (logits * weights).sum()

    return jax.jit(jax.value_and_grad(number))


@pytest.mark.parametrize(
    ("choices", "deterministic"),
    [pytest.param(CHOICES, True, marks=pytest.mark.slow), (("elementwise", "layers"), False)],
)
def test_no_result_depends_on_what_is_computed_twice(choices, deterministic, small_model, build):
    """Nor does what is dropped: the second time the same entries are."""
    rates = {"attention_dropout_rate": 0.3, "feed_forward_dropout_rate": 0.3, "dropout_rate": 0.3}
    found = []
    for choice in choices:
        model, variables = build(dataclasses.replace(small_model, rematerialise=choice, **rates))
        found.append(gradient(model, deterministic=deterministic)(variables["params"]))
    for other in found[1:]:
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), found[0], other)
    assert all(np.abs(leaf).max() > 0 for leaf in jax.tree.leaves(found[0][1]["encoder"]))


def test_scanned_layers_drop_different_entries():
    """Two layers without parameters that add what they drop from ones: with one key they would add the same."""
    drop = [Dropout(0.5).bind({}), Dropout(0.5).bind({})]

    def apply(layer, x):
        dropped = layer(jnp.ones_like(x), deterministic=False)
        return x + dropped, dropped

    key = jax.random.key(7)
    _, (first, second) = apply_layers(drop, apply, jnp.zeros((3, 5, 14)), dropout_key=key, rematerialise="layers")
    assert set(np.unique(first)) == set(np.unique(second)) == {0.0, 2.0}
    assert 0.25 < (first != second).mean() < 0.75


@pytest.mark.slow
def test_what_is_computed_twice_needs_no_memory_meanwhile(small_model, build):
    def temporary_bytes(choice):
        model, variables = build(dataclasses.replace(small_model, num_layers=6, rematerialise=choice))
        ids = jax.ShapeDtypeStruct((64, 31), jnp.int32)

        def number(params, source, target):
            rngs = {"dropout": jax.random.key(5)}
            return model.apply({"params": params}, source, target, deterministic=False, rngs=rngs).sum()

        compiled = jax.jit(jax.grad(number)).lower(variables["params"], ids, ids).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    nothing, elementwise, layers = (temporary_bytes(choice) for choice in CHOICES)
    assert layers < 0.8 * elementwise
    assert elementwise < 0.8 * nothing


def test_a_program_of_scanned_layers_is_as_long_as_one_layer_s(small_model, build):
    def operations(num_layers):
        model, variables = build(dataclasses.replace(small_model, num_layers=num_layers, rematerialise="layers"))
        text = gradient(model, deterministic=False).lower(variables["params"]).as_text()
        return sum("dot_general" in line for line in text.split("\n"))

    assert operations(2) == operations(5)
