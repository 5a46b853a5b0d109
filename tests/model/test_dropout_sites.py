"""Where dropout acts: every call of it in a training pass, seen from outside."""

import dataclasses
from functools import partial
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import numpy_oracle as oracle
import pytest

from transformer_jax import config
from transformer_jax.model.dropout import Dropout
from transformer_jax.model.layers import EncoderLayer

SOURCE, TARGET = jnp.array([[7, 11, 5, 29, 2], [3, 36, 2, 0, 0]]), jnp.array([[13, 4, 2], [31, 8, 2]])
SUMS_OF_EMBEDDINGS_AND_POSITIONS = {"encoder/dropout", "decoder/dropout"}
SUBLAYER_OUTPUTS = {
    f"{layer}/{sublayer}_residual/Dropout_0"
    for layer, sublayer in (
        ("encoder/layers_0", "self_attention"),
        ("encoder/layers_0", "feed_forward"),
        ("decoder/layers_0", "self_attention"),
        ("decoder/layers_0", "source_attention"),
        ("decoder/layers_0", "feed_forward"),
    )
}
ATTENTION_WEIGHTS = {
    "encoder/layers_0/self_attention/dropout",
    "decoder/layers_0/self_attention/dropout",
    "decoder/layers_0/source_attention/dropout",
}
INNER_ACTIVATIONS = {"encoder/layers_0/feed_forward/Dropout_0", "decoder/layers_0/feed_forward/Dropout_0"}


class Call(NamedTuple):
    before: jax.Array
    after: jax.Array


@partial(jax.jit, static_argnums=0, static_argnames="deterministic")
def dropout_calls(model: nn.Module, variables: Any, *, deterministic: bool = False) -> dict[str, Call]:
    """What went into and came out of each dropout of one pass, by the module's path."""
    calls: dict[str, Call] = {}

    def listen(call: Any, args: tuple, kwargs: dict, context: nn.module.InterceptorContext) -> Any:
        result = call(*args, **kwargs)
        if isinstance(context.module, Dropout) and context.method_name == "__call__":
            path = "/".join(context.module.path)
            assert path not in calls, "each place drops once"
            calls[path] = Call(args[0], result)
        return result

    with nn.intercept_methods(listen):
        rngs = {"dropout": jax.random.key(5)}
        model.apply(variables, SOURCE, TARGET, deterministic=deterministic, rngs=rngs)
    return calls


def with_rates(model: config.Model, **rates: float) -> config.Model:
    none = dict.fromkeys(("dropout_rate", "attention_dropout_rate", "feed_forward_dropout_rate"), 0.0)
    return dataclasses.replace(model, num_layers=1, **(none | rates))


@pytest.mark.parametrize(
    ("rate", "sites"),
    [
        ("dropout_rate", SUMS_OF_EMBEDDINGS_AND_POSITIONS | SUBLAYER_OUTPUTS),
        ("attention_dropout_rate", ATTENTION_WEIGHTS),
        ("feed_forward_dropout_rate", INNER_ACTIVATIONS),
    ],
)
def test_each_rate_acts_in_its_places_and_in_no_other(rate, sites, small_model, build):
    """`dropout_rate` alone is the paper: the weights of attention and the inner activations stay whole."""
    calls = dropout_calls(*build(with_rates(small_model, **{rate: 0.5})))
    assert set(calls) == SUMS_OF_EMBEDDINGS_AND_POSITIONS | SUBLAYER_OUTPUTS | ATTENTION_WEIGHTS | INNER_ACTIVATIONS
    assert {path for path, call in calls.items() if (call.before != call.after).any()} == sites
    for path in sites:
        before, after = calls[path]
        dropped = (after == 0) & (before != 0)
        assert dropped.sum() / (before != 0).sum() == pytest.approx(0.5, abs=0.25), path
        np.testing.assert_allclose(after[~dropped], 2 * before[~dropped], rtol=1e-6)


def test_nothing_is_dropped_when_deterministic(small_model, build):
    model = with_rates(small_model, dropout_rate=0.5, attention_dropout_rate=0.5, feed_forward_dropout_rate=0.5)
    calls = dropout_calls(*build(model), deterministic=True)
    assert all((call.before == call.after).all() for call in calls.values())


def test_places_drop_independently(small_model, build):
    calls = dropout_calls(*build(with_rates(small_model, dropout_rate=0.5)))
    patterns = {path: call.after == 0 for path, call in calls.items() if path in SUBLAYER_OUTPUTS}
    for stack, pairs in (("encoder", 1), ("decoder", 3)):
        of_stack = [pattern for path, pattern in patterns.items() if path.startswith(stack)]
        different = [(a != b).any() for i, a in enumerate(of_stack) for b in of_stack[:i]]
        assert different == [True] * pairs


def test_the_first_thing_dropped_is_the_sum_of_embedding_and_position(small_model, build):
    model, variables = build(with_rates(small_model, dropout_rate=0.5))
    table = np.asarray(variables["params"]["source_embedding"]["table"], np.float64)
    calls = dropout_calls(model, variables)
    for stack, ids in (("encoder", SOURCE[0]), ("decoder", jnp.array([1, 13, 4]))):
        expected = table[np.asarray(ids)] * 14**0.5 + oracle.sinusoids(len(ids), 14)
        np.testing.assert_allclose(calls[f"{stack}/dropout"].before[0], expected, atol=1e-5)


@pytest.mark.parametrize("pre_norm", [False, True])
def test_a_sub_layer_s_output_is_dropped_before_it_is_added(pre_norm, small_model, build):
    """Were all of it dropped, the input would be left: normalised twice, or, with pre-norm, as it came."""
    config_ = with_rates(small_model, dropout_rate=0.5)
    params = build(config_)[1]["params"]["encoder"]["layers_0"]
    layer = EncoderLayer(dataclasses.replace(config_, pre_norm=pre_norm))
    x = jnp.asarray(np.random.default_rng(1).normal(size=(1, 5, 14)), jnp.float32)

    def drop_all(call: Any, args: tuple, kwargs: dict, context: nn.module.InterceptorContext) -> Any:
        residual = context.module.path[0].endswith("_residual") if context.module.path else False
        if isinstance(context.module, Dropout) and residual:
            return jnp.zeros_like(args[0])
        return call(*args, **kwargs)

    with nn.intercept_methods(drop_all):
        output, _ = layer.apply({"params": params}, x, jnp.ones((1, 1, 1, 5), bool), deterministic=False)
    expected = np.asarray(x[0], np.float64)
    if not pre_norm:
        for residual in ("self_attention_residual", "feed_forward_residual"):
            expected = oracle.layer_norm(expected, params[residual]["LayerNorm_0"], epsilon=1e-6)
    np.testing.assert_allclose(output[0], expected, atol=1e-5)
