"""What was saved comes back bit for bit, or not at all: damage is found, said, and got over."""

import os
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from transformer_jax import parallel
from transformer_jax.training.checkpoint import CheckpointError, Checkpoints, ModelMismatchError
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


@pytest.fixture
def saved(tmp_path) -> Path:
    """A run's checkpoints of the steps 11, 12 and 13."""
    checkpoints = Checkpoints(tmp_path / "checkpoints", keep=3)
    for step in (11, 12, 13):
        checkpoints.save(state_at(step))
    return tmp_path / "checkpoints"


def files_of(checkpoint: Path) -> list[Path]:
    """Largest first."""
    return sorted((path for path in checkpoint.rglob("*") if path.is_file()), key=lambda path: -path.stat().st_size)


def array_file(checkpoint: Path, part: str) -> Path:
    return max((checkpoint / part / "d").iterdir(), key=lambda path: path.stat().st_size)


def flip_middle_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-7])


DAMAGES: dict[str, Callable[[Path], None]] = {
    "bit of the parameters": lambda checkpoint: flip_middle_bit(array_file(checkpoint, "params")),
    "bit of the optimizer's state": lambda checkpoint: flip_middle_bit(array_file(checkpoint, "opt_state")),
    "end of the parameters": lambda checkpoint: truncate(array_file(checkpoint, "params")),
    "all of the parameters": lambda checkpoint: array_file(checkpoint, "params").write_bytes(b""),
    "parameters' file": lambda checkpoint: array_file(checkpoint, "params").unlink(),
    "parameters' metadata": lambda checkpoint: (checkpoint / "params" / "_METADATA").unlink(),
    "manifest": lambda checkpoint: (checkpoint / "manifest" / "metadata").unlink(),
    "end of the manifest": lambda checkpoint: truncate(checkpoint / "manifest" / "metadata"),
    "every file": lambda checkpoint: [path.unlink() for path in files_of(checkpoint)] and None,
}


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


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_damage_is_said_and_the_one_before_is_used(saved, damage):
    damage(saved / "13")
    told = []
    checkpoints = Checkpoints(saved, keep=3)
    assert_equal(checkpoints.restore_newest(state_at(0), told.append), state_at(12))
    (line,) = told
    assert line.startswith(f"checkpoint {saved / '13'} is damaged: ")
    assert len(line.splitlines()) == 1
    assert checkpoints.steps == [11, 12]
    checkpoints.save(state_at(13))
    assert_equal(Checkpoints(saved, keep=3).restore_newest(state_at(0), silent), state_at(13))


def test_no_bit_of_a_file_matters_unnoticed(saved):
    """Whichever file loses its middle bit: what is restored is a state that was saved, or there is a clear error."""
    originals = {path: path.read_bytes() for path in files_of(saved / "13")}
    outcomes = set()
    for path, original in originals.items():
        flip_middle_bit(path)
        told = []
        try:
            restored = Checkpoints(saved, keep=3)._restore(13, state_at(0)._asdict() | {"step": None})
        except (CheckpointError, ModelMismatchError) as error:
            told.append(str(error))
        else:
            assert_equal(restored["params"], state_at(13).params)
            assert_equal(restored["opt_state"], state_at(13).opt_state)
        outcomes.add(len(told))
        path.write_bytes(original)
    assert outcomes == {0, 1}


def test_two_damaged_ones_are_said_and_removed(saved):
    for step in ("12", "13"):
        DAMAGES["bit of the parameters"](saved / step)
    told = []
    checkpoints = Checkpoints(saved, keep=3)
    assert_equal(checkpoints.restore_newest(state_at(0), told.append), state_at(11))
    assert [line.split(" is ")[0] for line in told] == [f"checkpoint {saved / step}" for step in ("13", "12")]
    assert checkpoints.steps == [11]


def test_if_all_are_damaged_nothing_is_removed(saved):
    for step in ("11", "12", "13"):
        DAMAGES["end of the parameters"](saved / step)
    told = []
    checkpoints = Checkpoints(saved, keep=3)
    with pytest.raises(CheckpointError, match="no checkpoint is whole; the oldest is that of step 11"):
        checkpoints.restore_newest(state_at(0), told.append)
    assert len(told) == 3
    assert checkpoints.steps == [11, 12, 13]


@pytest.mark.parametrize("nth", [1, 2, 4])
def test_a_kill_while_saving_leaves_no_half_checkpoint(saved, monkeypatch, nth):
    """Everything is written under another name; the last renaming makes it a checkpoint."""

    class Killed(BaseException):
        pass

    rename, calls = os.rename, []

    def killed(*arguments, **settings):
        calls.append(arguments)
        if len(calls) == nth:
            raise Killed
        return rename(*arguments, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", killed)
        with pytest.raises(Killed):
            Checkpoints(saved, keep=3).save(state_at(14))
    assert [path.name for path in saved.iterdir() if path.name not in ("11", "12", "13")] != []
    checkpoints = Checkpoints(saved, keep=3)
    assert checkpoints.steps == [11, 12, 13]
    assert_equal(checkpoints.restore_newest(state_at(0), silent), state_at(13))
    checkpoints.save(state_at(14))
    assert sorted(path.name for path in saved.iterdir()) == ["12", "13", "14"]
    assert_equal(Checkpoints(saved, keep=3).restore_newest(state_at(0), silent), state_at(14))


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
    with pytest.raises(ModelMismatchError, match=r"opt_state\[0\]\.trace"):
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


def test_an_average_of_a_damaged_checkpoint_is_refused(saved):
    DAMAGES["bit of the parameters"](saved / "12")
    checkpoints = Checkpoints(saved, keep=3)
    with pytest.raises(CheckpointError, match=r"checkpoints/12 is damaged"):
        checkpoints.average(2, state_at(0).params)
    assert checkpoints.average(1, state_at(0).params)[1] == [13]
