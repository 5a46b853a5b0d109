"""Cross-entropy with label smoothing: by hand, against its definition, and its chunked form against the plain one."""

import math
from functools import partial
from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import numpy_oracle as oracle
import pytest

from transformer_jax.config import SmoothingOver
from transformer_jax.training import loss as loss_module
from transformer_jax.training.loss import chunked_cross_entropy, label_smoothed_cross_entropy, smoothed_target

pytestmark = pytest.mark.usefixtures("quick_to_compile")
WIDTH, VOCAB = 5, 23
OVER = get_args(SmoothingOver)
USUAL = smoothed_target("others", 0.1, VOCAB)


def normal(seed: int, *shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def some_targets(seed: int, *shape: int, padded: float = 0.3) -> jax.Array:
    generator = np.random.default_rng(seed)
    return jnp.asarray(np.where(generator.random(shape) < padded, 0, generator.integers(1, VOCAB, shape)))


def test_three_classes_by_hand():
    """p = (1/2, 1/4, 1/4), target 1, q = (0.1, 0.8, 0.1): the loss is 0.1 ln 2 + 0.8 ln 4 + 0.1 ln 4 = 1.9 ln 2."""
    logits = jnp.log(jnp.array([[[0.5, 0.25, 0.25]]])) + 7.0
    sums = label_smoothed_cross_entropy(logits, jnp.array([[1]]), smoothed_target("others", 0.2, 3))
    np.testing.assert_allclose(sums, (1.9 * math.log(2), 2 * math.log(2), 1.0), rtol=1e-6)


FIVE_WORDS = {
    "others": ([0.15, 0.15, 0.4, 0.15, 0.15], 2.85),
    "all": ([0.12, 0.12, 0.52, 0.12, 0.12], 2.88),
    "others_but_pad": ([0.0, 0.2, 0.4, 0.2, 0.2], 3.2),
    "all_but_pad": ([0.0, 0.15, 0.55, 0.15, 0.15], 3.15),
}


@pytest.mark.parametrize("over", OVER)
def test_five_words_by_hand(over):
    """eps = 0.6, the pad id and four words, the second of which is right; -log2 p = (1, 2, 3, 4, 4).

    The gradient of the loss by the logits is p - q.
    """
    q, bits = FIVE_WORDS[over]
    p = jnp.array([1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 16])

    def loss(logits):
        return label_smoothed_cross_entropy(logits, jnp.array(2), smoothed_target(over, 0.6, 5)).loss

    np.testing.assert_allclose(loss(jnp.log(p) + 7.0), bits * math.log(2), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(loss)(jnp.log(p) + 7.0), p - jnp.array(q), atol=1e-6)


def written_out(over, target, smoothing):
    """q, from the ids that share: the right one or not, the pad id or not."""
    sharing = [
        id for id in range(VOCAB) if (id != target or "others" not in over) and (id != 0 or "but_pad" not in over)
    ]
    q = np.zeros(VOCAB)
    q[target] = 1 - smoothing
    q[sharing] += smoothing / len(sharing)
    return q


@pytest.mark.parametrize("over", OVER)
def test_what_is_learned_is_a_distribution(over):
    """Whichever word is right."""
    for target in range(1, VOCAB):
        right, other, without = smoothed_target(over, 0.3, VOCAB)
        q = [right if id == target else 0.0 if id in without else other for id in range(VOCAB)]
        np.testing.assert_allclose(q, written_out(over, target, 0.3), rtol=1e-12)
        assert math.fsum(q) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("chunked", [True, False])
def test_without_smoothing_it_goes_nowhere(chunked):
    outputs, table, targets = normal(3, 5, 7, WIDTH), normal(4, VOCAB, WIDTH), some_targets(5, 5, 7)
    compute = partial(sums_and_gradients, outputs, table, targets, chunked=chunked)
    usual, *others = (jax.tree.leaves(compute(smoothed=smoothed_target(over, 0.0, VOCAB))) for over in OVER)
    assert len(others) == 3
    for other in others:
        assert all((ours == theirs).all() for ours, theirs in zip(usual, other, strict=True)), "bit for bit"


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_sums_are_those_of_the_written_out_distribution(smoothing):
    logits, targets = 3 * normal(1, 5, 7, VOCAB), some_targets(2, 5, 7)
    sums = label_smoothed_cross_entropy(logits, targets, smoothed_target("others", smoothing, VOCAB))
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
        return label_smoothed_cross_entropy(logits, target, USUAL).loss

    best = jnp.log(jnp.asarray(q, jnp.float32))[None, None]
    np.testing.assert_allclose(loss(best), -(q * np.log(q)).sum(), rtol=1e-5)
    np.testing.assert_allclose(jax.grad(loss)(best), 0.0, atol=1e-6)
    for seed in range(5):
        assert loss(best + normal(seed, 1, 1, VOCAB)) > loss(best) + 1e-3


# 512 positions are a chunk: a part of one, one, and three with the last not full.
SHAPES = [(5, 7), (8, 64), (19, 61)]


@partial(jax.jit, static_argnames=("chunked", "smoothed"))
def sums_and_gradients(outputs, table, targets, *, chunked, smoothed=USUAL):
    def loss(outputs, table):
        if chunked:
            sums = chunked_cross_entropy(outputs, table, targets, smoothed)
        else:
            sums = label_smoothed_cross_entropy(outputs @ table.T, targets, smoothed)
        return 3.7 * sums.loss, sums  # a factor, since a gradient made on the way forward could forget it

    (_, sums), gradients = jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)(outputs, table)
    return sums, gradients


@pytest.mark.parametrize(
    ("shape", "over"), [*((shape, "others") for shape in SHAPES), *(((5, 7), o) for o in OVER[1:])]
)
def test_chunks_change_neither_sums_nor_gradients(shape, over):
    outputs, table, targets = normal(3, *shape, WIDTH), normal(4, VOCAB, WIDTH), some_targets(5, *shape)
    compute = partial(sums_and_gradients, outputs, table, targets, smoothed=smoothed_target(over, 0.1, VOCAB))
    sums, gradients = compute(chunked=True)
    expected_sums, expected_gradients = compute(chunked=False)
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
    alone = jax.jit(partial(chunked_cross_entropy, smoothed=USUAL))(outputs, table, targets)
    np.testing.assert_allclose(alone, sums_and_gradients(outputs, table, targets, chunked=True)[0], rtol=1e-6)


def test_the_likelihood_is_reported_and_not_learned_from():
    targets = some_targets(5, 5, 7)

    def likelihood(outputs, table):
        return chunked_cross_entropy(outputs, table, targets, USUAL).negative_log_likelihood

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


@pytest.mark.parametrize(("tokens", "chunks"), [(0, 0), (1, 1), (512, 1), (513, 2), (1500, 3)])
def test_padding_has_no_logits(tokens, chunks, monkeypatch):
    """Chunks are made while there are tokens, wherever in the batch these stand: told by each that is made."""
    made = []

    def told(logits, targets, smoothed):
        jax.debug.callback(lambda: made.append(1))
        return label_smoothed_cross_entropy(logits, targets, smoothed)

    monkeypatch.setattr(loss_module, "label_smoothed_cross_entropy", told)
    targets = np.zeros(30 * 50, np.int32)
    targets[np.random.default_rng(1).permutation(targets.size)[:tokens]] = 4
    outputs, table = normal(3, 30, 50, WIDTH), normal(4, VOCAB, WIDTH)
    jax.jit(partial(chunked_cross_entropy, smoothed=USUAL))(outputs, table, jnp.asarray(targets.reshape(30, 50)))
    jax.effects_barrier()
    assert len(made) == chunks


def sizes(jaxpr):
    """Of every array that a program computes, those of the programs within it included."""
    for equation in jaxpr.eqns:
        yield from (math.prod(variable.aval.shape) for variable in equation.outvars)
        for parameter in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
            inner = getattr(parameter, "jaxpr", parameter)
            if hasattr(inner, "eqns"):
                yield from sizes(inner)
