"""Cross-entropy with label smoothing: by hand, against its definition, and its chunked form against the plain one."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpy_oracle as oracle
import pytest

from transformer_jax.training.loss import chunked_cross_entropy, label_smoothed_cross_entropy

pytestmark = pytest.mark.usefixtures("quick_to_compile")
WIDTH, VOCAB = 5, 23


def normal(seed: int, *shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def some_targets(seed: int, *shape: int, padded: float = 0.3) -> jax.Array:
    generator = np.random.default_rng(seed)
    return jnp.asarray(np.where(generator.random(shape) < padded, 0, generator.integers(1, VOCAB, shape)))


def test_three_classes_by_hand():
    """p = (1/2, 1/4, 1/4), target 1, q = (0.1, 0.8, 0.1): the loss is 0.1 ln 2 + 0.8 ln 4 + 0.1 ln 4 = 1.9 ln 2."""
    logits = jnp.log(jnp.array([[[0.5, 0.25, 0.25]]])) + 7.0
    sums = label_smoothed_cross_entropy(logits, jnp.array([[1]]), 0.2)
    np.testing.assert_allclose(sums, (1.9 * math.log(2), 2 * math.log(2), 1.0), rtol=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_sums_are_those_of_the_written_out_distribution(smoothing):
    logits, targets = 3 * normal(1, 5, 7, VOCAB), some_targets(2, 5, 7)
    sums = label_smoothed_cross_entropy(logits, targets, smoothing)
    places = [place for place in np.ndindex(5, 7) if targets[place] != 0]

    def expected(smoothing):
        rows = ((np.asarray(logits[place], np.float64), int(targets[place])) for place in places)
        return sum(oracle.smoothed_cross_entropy(row, target, label_smoothing=smoothing) for row, target in rows)

    np.testing.assert_allclose(sums.loss, expected(smoothing), rtol=1e-5)
    np.testing.assert_allclose(sums.negative_log_likelihood, expected(0.0), rtol=1e-5)
    assert sums.tokens == len(places) < 35


def test_the_least_loss_is_the_entropy_of_the_smoothed_target():
    smoothing, target = 0.1, jnp.array([[4]])
    q = np.full(VOCAB, smoothing / (VOCAB - 1))
    q[4] = 1 - smoothing

    def loss(logits):
        return label_smoothed_cross_entropy(logits, target, smoothing).loss

    best = jnp.log(jnp.asarray(q, jnp.float32))[None, None]
    np.testing.assert_allclose(loss(best), -(q * np.log(q)).sum(), rtol=1e-5)
    np.testing.assert_allclose(jax.grad(loss)(best), 0.0, atol=1e-6)
    for seed in range(5):
        assert loss(best + normal(seed, 1, 1, VOCAB)) > loss(best) + 1e-3


# 512 positions are a chunk: a part of one, one, and three with the last not full.
SHAPES = [(5, 7), (8, 64), (19, 61)]


@partial(jax.jit, static_argnames=("chunked", "smoothing"))
def sums_and_gradients(outputs, table, targets, *, chunked, smoothing=0.1):
    def loss(outputs, table):
        if chunked:
            sums = chunked_cross_entropy(outputs, table, targets, smoothing)
        else:
            sums = label_smoothed_cross_entropy(outputs @ table.T, targets, smoothing)
        return 3.7 * sums.loss, sums  # a factor, since a gradient made on the way forward could forget it

    (_, sums), gradients = jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)(outputs, table)
    return sums, gradients


@pytest.mark.parametrize("shape", SHAPES)
def test_chunks_change_neither_sums_nor_gradients(shape):
    outputs, table, targets = normal(3, *shape, WIDTH), normal(4, VOCAB, WIDTH), some_targets(5, *shape)
    sums, gradients = sums_and_gradients(outputs, table, targets, chunked=True)
    expected_sums, expected_gradients = sums_and_gradients(outputs, table, targets, chunked=False)
    np.testing.assert_allclose(sums, expected_sums, rtol=1e-5)
    for ours, theirs in zip(gradients, expected_gradients, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=2e-5)
    assert (gradients[0][targets == 0] == 0).all()
    assert (jnp.abs(gradients[0][targets != 0]).max(-1) > 0).all()


def test_padding_alone_has_no_loss_and_no_gradient():
    outputs, table = normal(3, 5, 7, WIDTH), normal(4, VOCAB, WIDTH)
    sums, gradients = sums_and_gradients(outputs, table, jnp.zeros((5, 7), jnp.int32), chunked=True)
    assert jax.tree.map(float, sums) == (0.0, 0.0, 0.0)
    assert all((gradient == 0).all() for gradient in gradients)


def test_the_value_without_a_gradient_is_the_same():
    outputs, table, targets = normal(3, 19, 61, WIDTH), normal(4, VOCAB, WIDTH), some_targets(5, 19, 61)
    alone = jax.jit(partial(chunked_cross_entropy, label_smoothing=0.1))(outputs, table, targets)
    np.testing.assert_allclose(alone, sums_and_gradients(outputs, table, targets, chunked=True)[0], rtol=1e-6)


def test_the_likelihood_is_reported_and_not_learned_from():
    targets = some_targets(5, 5, 7)

    def likelihood(outputs, table):
        return chunked_cross_entropy(outputs, table, targets, 0.1).negative_log_likelihood

    gradients = jax.grad(likelihood, argnums=(0, 1))(normal(3, 5, 7, WIDTH), normal(4, VOCAB, WIDTH))
    assert all((gradient == 0).all() for gradient in gradients)


def test_gradients_in_bfloat16_have_the_types_of_their_arguments():
    """And its precision: three digits at best, after a sum over the vocabulary, or over the positions in float32."""
    outputs, table, targets = normal(3, 5, 7, WIDTH), normal(4, VOCAB, WIDTH), some_targets(5, 5, 7)
    _, narrow = sums_and_gradients(outputs.astype(jnp.bfloat16), table, targets, chunked=True)
    _, wide = sums_and_gradients(outputs, table, targets, chunked=True)
    assert [gradient.dtype for gradient in narrow] == [jnp.bfloat16, jnp.float32]
    for ours, theirs in zip(narrow, wide, strict=True):
        np.testing.assert_allclose(ours.astype(jnp.float32), theirs, atol=0.02 * float(jnp.abs(theirs).max()))


@pytest.mark.parametrize("chunked", [True, False])
def test_the_logits_of_all_positions_never_exist_at_once(chunked):
    """The plain form is there to show that the test would see them."""
    batch, length, vocab = 31, 67, 1009
    shapes = [(batch, length, WIDTH), (vocab, WIDTH)]
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    targets = jax.ShapeDtypeStruct((batch, length), jnp.int32)
    jaxpr = jax.make_jaxpr(partial(sums_and_gradients, chunked=chunked))(*arguments, targets)
    largest = max(sizes(jaxpr.jaxpr))
    assert largest == (512 * vocab if chunked else batch * length * vocab)


def sizes(jaxpr):
    """Of every array that a program computes, those of the programs within it included."""
    for equation in jaxpr.eqns:
        yield from (math.prod(variable.aval.shape) for variable in equation.outvars)
        for parameter in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
            inner = getattr(parameter, "jaxpr", parameter)
            if hasattr(inner, "eqns"):
                yield from sizes(inner)
