"""Statistics of heads, worked by hand, and that padding and batches do not change them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilation import quick_to_compile

from transformer_jax.analysis.attention_maps import head_sums, means, near_diagonal, stack_sums
from transformer_jax.model.transformer import AttentionWeights
from transformer_jax.special_ids import PAD_ID

__all__ = ["quick_to_compile"]
pytestmark = pytest.mark.usefixtures("quick_to_compile")

LOG2 = float(np.log(2))
HEAD_SUMS, STACK_SUMS = jax.jit(head_sums), jax.jit(stack_sums)
# One layer, one sentence, two heads, three queries, three positions.
HEADS = [
    [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]],
    [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]],
]


def summed(weights, queries=(1, 1, 1), marked=(0, 0, 1)):
    """Of weights [H, Q, M] of one layer and one sentence, all of whose positions but the marked queries are tokens."""
    weights = jnp.array(weights)[None, None]
    memory = jnp.ones((1, weights.shape[-1]), bool)
    return HEAD_SUMS(weights, jnp.array([queries], bool), memory, jnp.array([marked], bool))


def test_by_hand():
    found = means(summed(HEADS))
    np.testing.assert_allclose(found.entropy, [[(0 + LOG2 + 1.5 * LOG2) / 3, 0]], rtol=1e-6)
    # Of the first head: 0, half of 1, and 2 * 0.25 + 1 * 0.25; of the second: 2, 1, 2.
    np.testing.assert_allclose(found.distance, [[(0 + 0.5 + 0.75) / 3, 5 / 3]], rtol=1e-6)
    np.testing.assert_allclose(found.diagonality, [[(1 + 1 + 0.75) / 3, 1 / 3]], rtol=1e-6)
    np.testing.assert_allclose(found.marked, [[0.5 / 3, 2 / 3]], rtol=1e-6)
    assert found.queries == 3


def test_n_positions_alike_have_the_entropy_log_n():
    uniform = np.full((2, 3, 3), 1 / 3, np.float32)
    np.testing.assert_allclose(means(summed(uniform)).entropy, [[np.log(3)] * 2], rtol=1e-6)


def test_what_is_no_query_counts_for_nothing():
    spoiled = np.array(HEADS, np.float32)
    spoiled[:, 2] = 7.0
    alone = summed(np.array(HEADS)[:, :2], (1, 1))
    for ours, theirs in zip(summed(spoiled, (1, 1, 0)), alone, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


@pytest.mark.parametrize(
    ("queries", "memory", "expected"),
    [
        (3, 3, [[1, 1, 0], [1, 1, 1], [0, 1, 1]]),
        (3, 5, [[1, 1, 0, 0, 0], [0, 1, 1, 1, 0], [0, 0, 0, 1, 1]]),  # 0, 2, 4
        (4, 2, [[1, 1], [1, 1], [1, 1], [1, 1]]),  # 0, 1/3, 2/3, 1
        (3, 2, [[1, 1], [1, 1], [1, 1]]),
        (4, 5, [[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]),  # 0, 4/3, 8/3, 4
        (1, 3, [[1, 1, 0]]),  # one query has the first position
    ],
)
def test_near_the_diagonal_by_hand(queries, memory, expected):
    found = near_diagonal(jnp.array([queries]), jnp.array([memory]), queries + 2, memory + 1)
    np.testing.assert_array_equal(found[0, :queries, :memory], np.array(expected, bool))


def test_stacks_by_hand():
    """A source of two tokens and a target of one, their end tokens included, beside a row that holds no pair."""
    source, target = jnp.array([[5, 2, 0], [0, 0, 0]]), jnp.array([[2, 0, 0], [0, 0, 0]])
    rows = np.zeros((3, 1, 2, 1, 3, 3), np.float32)
    rows[0, 0, 0, 0, :2] = [[0.25, 0.75, 0], [0, 1, 0]]
    rows[1, 0, 0, 0, :2] = [[1, 0, 0], [0.5, 0.5, 0]]  # the second row is padding's
    rows[2, 0, 0, 0, :1] = [[0.5, 0.5, 0]]
    found = STACK_SUMS(AttentionWeights(*jnp.array(rows)), source, target)
    assert [each.queries.item() for each in found] == [2, 1, 1]
    np.testing.assert_allclose([each.marked.item() for each in found], [1.75, 1.0, 0.5])  # the end, the begin, the end
    np.testing.assert_allclose([each.distance.item() for each in found], [0.75, 0, 0.5])
    np.testing.assert_allclose([each.diagonality.item() for each in found], [2, 1, 1])


def test_batches_add_up():
    rng = np.random.default_rng(1)
    source, target = (jnp.array([[5, 6, 2, 0], [7, 2, 0, 0], [5, 6, 7, 2]])[:, :length] for length in (4, 3))
    drawn = [rng.uniform(size=(2, 3, 2, queries, memory)) for queries, memory in ((4, 4), (3, 3), (3, 4))]
    weights = AttentionWeights(*(jnp.array(each, jnp.float32) for each in drawn))
    first = jnp.array([[True], [False], [False]])
    parts = [
        STACK_SUMS(weights, jnp.where(rows, source, PAD_ID), jnp.where(rows, target, PAD_ID))
        for rows in (first, ~first)
    ]
    together = STACK_SUMS(weights, source, target)
    jax.tree.map(lambda whole, *each: np.testing.assert_allclose(whole, sum(each), rtol=1e-5), together, *parts)
