"""What was saved comes back bit for bit, and only into the same model; averages are means."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from train_states import OPTIMIZER, assert_equal, files_of, save_three, silent, state_at

from transformer_jax import parallel
from transformer_jax.training.checkpoint import CheckpointError, Checkpoints, ModelMismatchError
from transformer_jax.training.step import TrainState


@pytest.fixture
def saved(tmp_path):
    return save_three(tmp_path / "checkpoints")


def test_a_new_run_has_none(tmp_path):
    checkpoints = Checkpoints(tmp_path / "checkpoints", keep=3)
    assert checkpoints.steps == []
    assert checkpoints.restore_newest(state_at(0), silent) is None
    with pytest.raises(CheckpointError, match=r"checkpoints: holds no checkpoint"):
        checkpoints.average(2, state_at(0).params)


def test_the_newest_comes_back_bit_for_bit(saved):
    assert_equal(Checkpoints(saved, keep=3).restore_newest(state_at(0), silent), state_at(13))


def test_a_restored_state_is_laid_out_like_a_new_one(saved):
    restored = Checkpoints(saved, keep=3).restore_newest(state_at(0), silent)
    for ours, theirs in zip(jax.tree.leaves(restored), jax.tree.leaves(state_at(0)), strict=True):
        assert ours.sharding == theirs.sharding
        assert ours.aval == theirs.aval
        assert ours.committed == theirs.committed


def test_a_step_from_a_restored_state_compiles_nothing(saved):
    compiled = []

    def listen(event: str, _seconds: float, **_details) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            compiled.append(event)

    def move(state: TrainState, batch: jax.Array) -> tuple[TrainState, jax.Array]:
        total = parallel.all_reduce(batch.sum())
        updates, opt_state = OPTIMIZER.update(state.params, state.opt_state)
        return TrainState(state.step + 1, optax.apply_updates(state.params, updates), opt_state), total

    step = parallel.on_all_devices(move, donate_state=True)
    batch = np.ones((parallel.num_devices(), 3), np.float32)
    new, restored = state_at(0), Checkpoints(saved, keep=3).restore_newest(state_at(0), silent)
    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        step(step(new, batch)[0], batch)
        assert len(compiled) == 1
        state, _ = step(restored, batch)
        assert len(compiled) == 1
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
    assert int(state.step) == 14


def test_the_newest_are_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step in (3, 5, 7, 11):
        checkpoints.save(state_at(step))
        assert checkpoints.steps == [own for own in (3, 5, 7, 11) if own <= step][-2:]
    assert Checkpoints(tmp_path, keep=2).steps == [7, 11]


def test_a_step_that_is_there_stays_as_it_is(saved):
    other = state_at(99)._replace(step=state_at(13).step)
    before = {path: path.stat().st_mtime_ns for path in files_of(saved)}
    checkpoints = Checkpoints(saved, keep=3)
    checkpoints.save(other)
    assert {path: path.stat().st_mtime_ns for path in files_of(saved)} == before
    assert_equal(checkpoints.restore_newest(state_at(0), silent), state_at(13))


def test_another_models_checkpoint_names_the_array(saved):
    with pytest.raises(ModelMismatchError) as raised:
        Checkpoints(saved, keep=3).restore_newest(state_at(0, rows=6), silent)
    message = str(raised.value)
    assert message.startswith(f"checkpoint {saved / '13'} is another model's: params['layer']['kernel'] is ((5, 7), ")
    assert message.endswith("there, ((6, 7), 'float32') here")
    assert Checkpoints(saved, keep=3).steps == [11, 12, 13]


def test_a_smaller_or_larger_tree_is_another_models(saved):
    like = state_at(0)
    smaller = {"layer": {"bias": like.params["layer"]["bias"]}}
    larger = {**like.params, "more": jnp.zeros(3)}
    checkpoints = Checkpoints(saved, keep=3)
    for params, name in ((smaller, r"params\['layer'\]\['kernel'\] is .* there, None here"),
                         (larger, r"params\['more'\] is None there")):  # fmt: skip
        with pytest.raises(ModelMismatchError, match=name):
            checkpoints.restore_newest(like._replace(params=params), silent)
        with pytest.raises(ModelMismatchError, match=name):
            checkpoints.average(2, params)
    with pytest.raises(ModelMismatchError, match=r"opt_state\[0\]\.count is"):
        checkpoints.restore_newest(like._replace(opt_state=optax.sgd(0.1, momentum=0.5).init(like.params)), silent)


def test_an_average_by_hand(tmp_path):
    """Of 1, 2 and 4, the newest two and all three; sums that float32 would lose are kept."""
    checkpoints = Checkpoints(tmp_path, keep=3)
    for step, value in ((1, 1.0), (2, 2.0), (3, 4.0)):
        params = {"a": jnp.full(5, value, jnp.float32), "b": jnp.asarray([[2.0**24, -value]], jnp.float32)}
        checkpoints.save(TrainState(jnp.asarray(step, jnp.int32), params, OPTIMIZER.init(params)))
    like = jax.tree.map(jnp.zeros_like, params)
    newest, steps = checkpoints.average(2, like)
    assert steps == [2, 3]
    assert newest["a"].tolist() == [3.0] * 5
    assert newest["b"].tolist() == [[2.0**24, -3.0]]
    everything, steps = checkpoints.average(3, like)
    assert steps == [1, 2, 3]
    assert everything["a"].dtype == np.float32
    assert everything["a"].tolist() == [float(np.float32(7 / 3))] * 5
    assert everything["b"].tolist() == [[2.0**24, float(np.float32(-7 / 3))]]


def test_an_average_of_more_than_there_are_says_its_steps(saved):
    average, steps = Checkpoints(saved, keep=3).average(10, state_at(0).params)
    assert steps == [11, 12, 13]
    kernels = [np.asarray(state_at(step).params["layer"]["kernel"], np.float64) for step in steps]
    np.testing.assert_array_equal(average["layer"]["kernel"], np.float32(sum(kernels) / 3))
    (newest, steps), like = Checkpoints(saved, keep=3).average(1, state_at(0).params), state_at(13).params
    assert steps == [13]
    assert_equal(newest, jax.tree.map(np.asarray, like))
