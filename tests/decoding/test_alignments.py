"""Whom a target's token looks at does not depend on the other pairs, and is never padding or an end."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilation import quick_to_compile_for_all
from random_params import random_params
from tiny_experiment import tiny_experiment

from transformer_jax.decoding.alignments import Aligner, links_of
from transformer_jax.decoding.pair_batches import Pair
from transformer_jax.model.embedding import SequenceTooLongError
from transformer_jax.model.transformer import Transformer
from transformer_jax.special_ids import EOS_ID

__all__ = ["quick_to_compile_for_all"]

VOCAB_SIZE = 29
LENGTHS = [(3, 5), (16, 2), (17, 1), (31, 30), (2, 31), (5, 3), (7, 16), (11, 13), (4, 0), (1, 2), (13, 17)]
SHAPES = set()


class Watched(Transformer):
    """Notes what it is compiled for."""

    def attention_weights(self, source, target):
        SHAPES.add((source.shape, target.shape))
        return super().attention_weights(source, target)


@pytest.fixture(scope="module")
def pairs():
    """Sources with their end token; every second target without."""
    rng = np.random.default_rng(1)
    return [
        Pair(
            [*rng.integers(4, VOCAB_SIZE, source - 1).tolist(), EOS_ID],
            [*rng.integers(4, VOCAB_SIZE, target).tolist(), EOS_ID][i % 2 : target + i % 2],
        )
        for i, (source, target) in enumerate(LENGTHS)
    ]


@pytest.fixture(scope="module")
def model():
    """Two layers, so that it matters which one is asked."""
    return Watched(tiny_experiment(num_layers=2).model, VOCAB_SIZE)


@pytest.fixture(scope="module")
def params(model):
    return random_params(model.config, VOCAB_SIZE, seed=1)


@pytest.fixture(scope="module")
def aligner(model, params):
    return Aligner(model, params, tokens_per_batch=128)


@pytest.fixture(scope="module")
def found(aligner, pairs):
    return dict(aligner.weights(pairs))


@pytest.fixture(scope="module")
def of_the_pair_alone(model, params):
    """The mean over heads of the last layer's weights, of one pair, without the aligner."""
    read = jax.jit(partial(Transformer(model.config, VOCAB_SIZE).apply, method="attention_weights"))

    def weights(pair):
        """In one shape: what is beyond the pair's own end cannot be seen from before it, and padding is not read."""
        source, target = (
            jnp.zeros((1, 31), jnp.int32).at[0, : len(side)].set(jnp.array(side, jnp.int32)) for side in pair
        )
        last = read({"params": params}, source, target).source[-1]
        return np.asarray(last)[0, :, : len(pair.target), : len(pair.source)].mean(0)

    return weights


def test_weights_are_those_of_the_pair_alone(found, pairs, of_the_pair_alone):
    assert sorted(found) == list(range(len(pairs)))
    for i, weights in found.items():
        np.testing.assert_allclose(weights, of_the_pair_alone(pairs[i]), atol=1e-5)


def test_all_of_the_weight_is_on_the_source(found, pairs):
    for i, weights in found.items():
        assert weights.shape == (len(pairs[i].target), len(pairs[i].source))
        np.testing.assert_allclose(weights.sum(1), 1.0, atol=1e-5)


def test_links_are_of_the_largest_weights_in_the_order_of_the_pairs(aligner, found, pairs):
    links = aligner.links(pairs)
    assert links == [links_of(found[i], pair) for i, pair in enumerate(pairs)]
    assert len({tuple(each) for each in links}) > len(pairs) // 2, "what is the same for all pairs has no order"


def test_links_by_hand():
    """The third source position is the end token's: what looks at it most is linked to the best of the others."""
    weights = np.array([[0.2, 0.5, 0.3], [0.3, 0.1, 0.6], [0.4, 0.4, 0.2], [0.0, 0.9, 0.1]], np.float32)
    source, end = [7, 8, EOS_ID], [9, 9, 9, EOS_ID]
    assert links_of(weights, Pair(source, end)) == [(1, 0), (0, 1), (0, 2)]
    assert links_of(weights, Pair(source, [*end[:3], 9])) == [(1, 0), (0, 1), (0, 2), (1, 3)]


def test_nothing_is_linked_to_nothing(aligner):
    assert aligner.links([Pair([EOS_ID], [5, 6]), Pair([5, EOS_ID], []), Pair([5, EOS_ID], [EOS_ID])]) == [[], [], []]
    assert aligner.links([]) == []


def test_every_token_of_the_target_has_one_link_to_a_token_of_the_source(aligner, pairs):
    for (source, target), links in zip(pairs, aligner.links(pairs), strict=True):
        tokens = len(target) - (EOS_ID in target)
        assert [position for _, position in links] == list(range(tokens)) * (len(source) > 1)
        assert all(0 <= position < len(source) - 1 for position, _ in links)


def test_few_shapes_are_compiled(found, pairs):
    """Two lengths, 16 and the model's 31, whatever the lengths of the sides; as many rows as 128 tokens allow, or 8."""
    assert len(found) == len(pairs)
    assert sorted(SHAPES) == [((8, length), (8, length)) for length in (16, 31)]


@pytest.mark.parametrize("pair", [Pair([5] * 32, [5]), Pair([5], [5] * 32)])
def test_a_side_that_is_too_long_is_refused(aligner, pair):
    with pytest.raises(SequenceTooLongError, match=r"32 tokens is longer than Model\.max_length = 31"):
        aligner.links([pair])
