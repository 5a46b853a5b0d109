"""Operations counted from a configuration against those of the program that it builds."""

import dataclasses
import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tiny_experiment import tiny_experiment

from transformer_jax import config, parallel
from transformer_jax.analysis.cost import forward_flops, training_flops, utilisation
from transformer_jax.data.batching import Batch
from transformer_jax.model.transformer import Transformer
from transformer_jax.training.loss import smoothed_target
from transformer_jax.training.step import batch_sums, initial_params, initial_state, make_train_step

VOCAB_SIZE, ROWS, SOURCE, TARGET = 41, 2, 18, 14
# What must not change the count, or must only as the formula says.
VARIANTS: dict[str, dict[str, Any]] = {
    "paper": {},
    "all_switches": {
        "pre_norm": True,
        "positions": "learned",
        "attention_biases": True,
        "shared_embedding": False,
        "compute_dtype": "bfloat16",
        "attention_dropout_rate": 0.2,
    },
    "restricted": {"encoder_neighbourhood": 4, "decoder_neighbourhood": 3},
}


def program(function: Any, *arguments: Any) -> Any:
    return jax.make_jaxpr(function)(*arguments).jaxpr


def inner_programs(equation: Any) -> Iterator[Any]:
    """Those that an equation runs, each as often as it runs it; once where only its inputs say how often."""
    repeats = equation.params["length"] if equation.primitive.name == "scan" else 1
    for value in equation.params.values():
        inner = getattr(value, "jaxpr", value)
        if hasattr(inner, "eqns"):
            yield from [inner] * repeats


def matrix_product_flops(jaxpr: Any) -> float:
    """Two for each multiply-add of each dot_general, by the shapes that it was given."""
    flops = 0.0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contracted, _), _ = equation.params["dimension_numbers"]
            summed = math.prod(equation.invars[0].aval.shape[axis] for axis in contracted)
            flops += 2.0 * math.prod(equation.outvars[0].aval.shape) * summed
        flops += sum(map(matrix_product_flops, inner_programs(equation)))
    return flops


def ids(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def shapes_of_params(transformer: Transformer) -> Any:
    return jax.eval_shape(partial(initial_params, transformer, seed=0))


def forward(transformer: Transformer) -> Any:
    return lambda params, source, target: transformer.apply({"params": params}, source, target, deterministic=True)


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
def test_forward_is_what_the_program_multiplies(small_model: config.Model, changes: dict[str, Any]):
    model = dataclasses.replace(small_model, **changes)
    transformer = Transformer(model, VOCAB_SIZE)
    jaxpr = program(forward(transformer), shapes_of_params(transformer), ids(ROWS, SOURCE), ids(ROWS, TARGET))
    assert matrix_product_flops(jaxpr) == ROWS * forward_flops(model, VOCAB_SIZE, source=SOURCE, target=TARGET)


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
def test_training_is_what_the_gradient_multiplies(small_model: config.Model, changes: dict[str, Any]):
    """The loss takes 512 tokens at a time, as often as there are some: the program is that of as many.

    Nothing is made twice.
    """
    model = dataclasses.replace(small_model, rematerialise="nothing", **changes)
    transformer, rows, target = Transformer(model, VOCAB_SIZE), 32, 16

    def loss(params: Any, batch: Batch, key: jax.Array) -> jax.Array:
        return batch_sums(
            transformer, params, batch, smoothed=smoothed_target("others", 0.1, VOCAB_SIZE), dropout_key=key
        ).loss

    batch = Batch(ids(rows, SOURCE), ids(rows, target))
    jaxpr = program(jax.grad(loss), shapes_of_params(transformer), batch, jax.random.key(0))
    assert matrix_product_flops(jaxpr) == rows * training_flops(model, VOCAB_SIZE, source=SOURCE, target=target)


def test_xla_counts_little_more(small_model: config.Model):
    """XLA adds the element-wise work, which is small where widths are of the usual size."""
    model = dataclasses.replace(small_model, num_layers=1, d_model=256, d_ff=1021, num_heads=4, d_k=53, d_v=71)
    model = dataclasses.replace(model, max_length=41)
    transformer = Transformer(model, 1009)
    lowered = jax.jit(forward(transformer)).lower(shapes_of_params(transformer), ids(2, 37), ids(2, 41))
    ratio = lowered.cost_analysis()["flops"] / (2 * forward_flops(model, 1009, source=37, target=41))
    assert 1.0 < ratio < 1.02


def test_xla_counts_little_more_of_a_whole_update(small_model: config.Model):
    """It counts what a loop repeats once: layers, micro-batches and the loss's chunks are one each.

    Beyond the products it counts element-wise work, of which the optimizer's is for parameters, not for tokens.
    """
    model = dataclasses.replace(small_model, num_layers=1, d_model=256, d_ff=1021, num_heads=4, d_k=53, d_v=71)
    model = dataclasses.replace(model, max_length=37, rematerialise="nothing")
    transformer, optimizer = Transformer(model, 1009), optax.adam(1e-3)
    step = parallel.on_all_devices(
        make_train_step(transformer, optimizer, tiny_experiment().training), donate_state=True, num_shared=1
    )
    rows, source, target = 16, 37, 32
    state = jax.eval_shape(lambda: initial_state(transformer, optimizer, 1))
    shape = parallel.num_devices(), 1, rows
    lowered = step.lower(state, Batch(ids(*shape, source), ids(*shape, target)), 1)
    of_a_device = rows * training_flops(model, 1009, source=source, target=target)
    assert 1.0 < lowered.cost_analysis()["flops"] / of_a_device < 1.02


def record_of(pairs: float, source: float, target: float, updates_per_second: float) -> dict[str, float]:
    return {
        "pairs_per_update": pairs,
        "source_tokens_per_update": pairs * source,
        "target_tokens_per_update": pairs * target,
        "target_tokens_per_second": updates_per_second * pairs * target,
    }


def test_utilisation_is_one_where_updates_make_the_peak(small_model: config.Model):
    """Of pairs of one length each; twice the peak, or half the updates, and it is a half."""
    update = 7 * training_flops(small_model, VOCAB_SIZE, source=SOURCE, target=TARGET)
    whole = record_of(7, SOURCE, TARGET, updates_per_second=3.0)
    half = record_of(7, SOURCE, TARGET, updates_per_second=1.5)
    assert utilisation(small_model, VOCAB_SIZE, whole, peak=3 * update) == pytest.approx(1)
    assert utilisation(small_model, VOCAB_SIZE, whole, peak=6 * update) == pytest.approx(1 / 2)
    assert utilisation(small_model, VOCAB_SIZE, half, peak=3 * update) == pytest.approx(1 / 2)


@pytest.fixture
def tiny(small_model: config.Model) -> config.Model:
    return dataclasses.replace(small_model, num_layers=1, d_model=2, d_ff=3, num_heads=1, d_k=1, d_v=2)


def test_hand_worked(tiny: config.Model):
    """d_model = 2, d_ff = 3, one head of d_k = 1 and d_v = 2; one source token, two target tokens, 5 in the vocabulary.

    Multiply-adds: a token's query and key cost 2 each, its value and output 4 each, its network 12; a score and its
    weighted sum cost 3.
    """
    encoder = (2 + 2 + 4 + 4) + 1 * 3 + 12
    decoder_self = 2 * (2 + 2 + 4 + 4) + 4 * 3
    decoder_source = 2 * (2 + 4) + 1 * (2 + 4) + 2 * 3
    decoder = decoder_self + decoder_source + 2 * 12
    logits = 2 * 2 * 5
    flops = 2 * (encoder + decoder + logits)
    assert forward_flops(tiny, 5, source=1, target=2) == flops == 262
    assert training_flops(tiny, 5, source=1, target=2) == 3 * flops


def test_linear_in_layers_above_the_softmax(small_model: config.Model):
    def flops(layers: int) -> float:
        model = dataclasses.replace(small_model, num_layers=layers)
        return forward_flops(model, VOCAB_SIZE, source=SOURCE, target=TARGET)

    softmax = 2 * TARGET * small_model.d_model * VOCAB_SIZE
    assert flops(7) - softmax == 7 * (flops(1) - softmax)


def test_attention_is_what_grows_with_the_square_of_lengths(small_model: config.Model):
    """Twice as long a pair costs twice as much, and twice the scores and weighted sums on top."""

    def flops(factor: int) -> float:
        return forward_flops(small_model, VOCAB_SIZE, source=factor * SOURCE, target=factor * TARGET)

    pairs = SOURCE**2 + TARGET**2 + SOURCE * TARGET
    per_layer = 2 * pairs * small_model.num_heads * (small_model.d_k + small_model.d_v)
    assert flops(2) - 2 * flops(1) == 2 * small_model.num_layers * per_layer


def test_of_mean_lengths(small_model: config.Model):
    """It lacks the spread of the lengths in the scores and weighted sums, and nothing else."""
    lengths = np.array([[3, 5], [11, 7], [19, 23], [2, 29]])
    each = [forward_flops(small_model, VOCAB_SIZE, source=int(s), target=int(t)) for s, t in lengths]
    source, target = lengths.mean(0).tolist()
    spread = np.cov(lengths.T, bias=True)
    heads = small_model.num_layers * small_model.num_heads * (small_model.d_k + small_model.d_v)
    lacking = 2 * heads * (spread[0, 0] + spread[1, 1] + spread[0, 1])
    of_mean = forward_flops(small_model, VOCAB_SIZE, source=source, target=target)
    assert np.mean(each) - of_mean == pytest.approx(lacking, rel=1e-9)


@pytest.mark.parametrize("heads", [1, 4, 16, 32])
def test_rows_a_of_table_3_compute_alike(small_model: config.Model, heads: int):
    """They vary h, "keeping the amount of computation constant" (section 6.2)."""

    def flops(heads: int) -> float:
        row = dataclasses.replace(small_model, d_model=512, num_heads=heads, d_k=512 // heads, d_v=512 // heads)
        return forward_flops(row, 37000, source=29, target=31)

    assert flops(heads) == flops(8)
