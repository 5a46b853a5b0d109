"""Train states that are quickly made, and a way to see that two are the same."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax

from transformer_jax import parallel
from transformer_jax.training.checkpoint import Checkpoints
from transformer_jax.training.step import TrainState

OPTIMIZER = optax.adam(0.1)


def state_at(step: int, *, rows: int = 5) -> TrainState:
    """A state whose every array, the optimizer's too, holds other numbers at another step."""
    rng = np.random.default_rng(step)
    params = {
        "layer": {"kernel": rng.normal(size=(rows, 7)).astype(np.float32), "bias": np.float32(rng.normal(size=3))}
    }
    opt_state = jax.tree.map(lambda leaf: leaf + jnp.asarray(rng.integers(2, 9), leaf.dtype), OPTIMIZER.init(params))
    return parallel.replicate(TrainState(jnp.asarray(step, jnp.int32), params, opt_state))


def assert_equal(ours, theirs):
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def silent(line: str) -> None:
    raise AssertionError(f"told of damage: {line}")


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def save_three(directory: Path) -> Path:
    """A run's checkpoints of the steps 11, 12 and 13."""
    checkpoints = Checkpoints(directory, keep=3)
    for step in (11, 12, 13):
        checkpoints.save(state_at(step))
    return directory
