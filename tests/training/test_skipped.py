"""A run that may, goes back from a loss that is not finite, and on without the batches that led there: as if these
were not in its text, and whenever it is killed.

The embedding of the word 4 is planted. Batches 4, 5, 14 and 17 have it. Checkpoints are of every third step.
"""

import functools
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import pytest
from planted import SEPARATE, batches_with, plant, planted_state
from process_worker import ends_well, start_run
from tiny_experiment import VOCAB_SIZE, random_corpus, tiny_experiment
from train_states import assert_equal, silent

from transformer_jax import parallel
from transformer_jax.model.transformer import Transformer
from transformer_jax.training import loop
from transformer_jax.training.checkpoint import Checkpoints
from transformer_jax.training.loop import Observer, batch_plan, train
from transformer_jax.training.metrics_log import Record, read_metrics
from transformer_jax.training.optimizer import make_optimizer
from transformer_jax.training.skipped import Skip, batch_of, skip_record, skips_of
from transformer_jax.training.step import TrainState, make_train_step
from transformer_jax.training.window import NotFiniteError

pytestmark = pytest.mark.usefixtures("compiled_once", "traced_once")
TRAIN, DEV, WORD, STEPS = random_corpus(1, 37), random_corpus(2, 13), 4, 13
# Steps 0 to 2 read 0 to 2. The fifth update is bad; back at 3 the next one too, which reads 5. On with 6 to 11, until
# 14 is bad at step 12, and back at 9, after 15 and 16, the 17.
SKIPS = [Skip(3, 3, 4), Skip(3, 5, 5), Skip(9, 12, 14), Skip(9, 15, 17)]
READ = [0, 1, 2, 6, 7, 8, 9, 10, 11, 18, 19, 20, 21]


@pytest.fixture(scope="module")
def traced_once() -> Iterator[None]:
    """The runs of this file differ in when they end, and not in what they compute: they share that."""
    with pytest.MonkeyPatch.context() as patch:
        model, optimizer = Transformer(experiment().model, VOCAB_SIZE), make_optimizer(experiment())
        step = make_train_step(model, optimizer, experiment().training)
        like = jax.tree.map(np.asarray, planted_state(WORD))
        patch.setattr(loop, "make_train_step", lambda *_: step)
        patch.setattr(loop, "initial_state", lambda *_: like)
        patch.setattr(loop, "dev_loss", lambda *_: lambda _: {"negative_log_likelihood": 1.0})
        patch.setattr(parallel, "on_all_devices", functools.cache(parallel.on_all_devices))
        yield


class KilledError(Exception):
    pass


class Killer:
    """Raises when it is asked, of a run, the `at`-th time; or, of a record of the log, when it has seen so many."""

    def __init__(self, at: int):
        self.left = at

    def __call__(self, *_: object) -> bool:
        self.left -= 1
        if self.left == 0:
            raise KilledError
        return False


def experiment(**changes):
    settings = {"num_steps": STEPS, "checkpoint_every_steps": 3, "skip_non_finite": 4, **SEPARATE}
    return tiny_experiment(**settings | changes)


def run(workdir: Path, *, record=lambda _: None, should_stop=lambda: False, **changes) -> list[str]:
    """What it says."""
    said: list[str] = []
    train(experiment(**changes), TRAIN, DEV, workdir, Observer(record, said.append, should_stop))
    return said


def newest(workdir: Path) -> TrainState:
    return Checkpoints(workdir / "checkpoints", keep=3).restore_newest(parallel.replicate(loop.initial_state()), silent)


def lasting(workdir: Path) -> list[Record]:
    """The log, without what depends on the clock or on where windows begin."""
    records = read_metrics(workdir / "metrics.jsonl")
    return [record for record in records if record["kind"] != "train"] + [
        {"step": record["step"], "epoch": record["epoch"]} for record in records if record["kind"] == "train"
    ]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Path:
    workdir = tmp_path_factory.mktemp("undisturbed")
    plant(workdir, WORD)
    (workdir / "said").write_text("\n".join(run(workdir)))
    return workdir


def test_the_word_is_where_it_is_said_to_be():
    plan = batch_plan(experiment(), TRAIN)
    assert batches_with(WORD, plan, TRAIN, range(22)) == [4, 5, 14, 17]
    assert [batch_of(step, SKIPS) for step in range(STEPS)] == READ


def test_it_ends_as_if_the_skipped_batches_were_not_there(undisturbed):
    """As updates made one by one, of the batches that were not skipped, and no loop."""
    plan = batch_plan(experiment(), TRAIN)
    step = parallel.on_all_devices(loop.make_train_step(), donate_state=True, num_shared=1)
    state = parallel.replicate(planted_state(WORD))
    for number in READ:
        state, _ = step(state, parallel.shard(plan.batch(TRAIN, number), tokens_per_device=64), 3)
    assert_equal(newest(undisturbed), state)


def test_the_log_tells_of_each_skip_once_and_of_each_step_once(undisturbed):
    records = read_metrics(undisturbed / "metrics.jsonl")
    assert skips_of(records) == SKIPS
    why = [record["why"] for record in records if record["kind"] == "skipped"]
    assert why == [f"step {step}: the loss is nan, the gradient norm nan" for step in (5, 4, 12, 12)]
    steps = [record["step"] for record in records]
    assert steps == sorted(steps)
    assert [record["step"] for record in records if record["kind"] == "train"] == [2, 3, 4, 6, 8, 9, 10, 12, 13]
    assert [record["epoch"] for record in records if record["kind"] == "train"][-1] == 22 / 5
    said = [line for line in (undisturbed / "said").read_text().splitlines() if not line.startswith("compiled, ")]
    first, back, *_ = said[1:]
    assert first == "resumed from step 3"
    assert back == f"{why[0]}; went back to step 3, and on without batches 3 to 4"


def test_more_than_the_setting_allows_ends_the_run(tmp_path):
    plant(tmp_path, WORD)
    rule = r"; the last checkpoint is from before; a run goes back .*, Training\.skip_non_finite = 3 times at most$"
    with pytest.raises(NotFiniteError, match=rf"^step 12: the loss is nan, the gradient norm nan{rule}"):
        run(tmp_path, skip_non_finite=3)
    assert skips_of(read_metrics(tmp_path / "metrics.jsonl")) == SKIPS[:3]
    assert Checkpoints(tmp_path / "checkpoints", keep=3).steps[-1] == 9


def killed(hook, at, *, slow=False):
    return pytest.param({hook: Killer(at)}, id=f"{hook}-{at}", marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize(
    "killer",
    [
        killed("should_stop", 14),
        *(killed("should_stop", at, slow=True) for at in (2, 5, 8, 17, 19, 22)),
        killed("record", 5),
        killed("record", 6, slow=True),
    ],
)
def test_killed_after_any_update_or_record_it_ends_the_same(undisturbed, tmp_path, killer):
    """There are 13 updates and 11 that are undone; the records are those around that of a skip."""
    plant(tmp_path, WORD)
    with pytest.raises(KilledError):
        run(tmp_path, **killer)
    run(tmp_path)
    assert_equal(newest(tmp_path), newest(undisturbed))
    assert lasting(tmp_path) == lasting(undisturbed)


@pytest.mark.parametrize("at", [4, pytest.param(14, marks=pytest.mark.slow)])
def test_stopped_between_checkpoints_it_ends_the_same(undisturbed, tmp_path, at):
    """At 4 it is saved apart, and the next update is bad: it goes back to the checkpoint of 3, as without a stop."""
    asked = []
    plant(tmp_path, WORD)
    run(tmp_path, should_stop=lambda: asked.append(True) or len(asked) >= at)
    run(tmp_path)
    assert_equal(newest(tmp_path), newest(undisturbed))
    assert skips_of(read_metrics(tmp_path / "metrics.jsonl")) == SKIPS


def test_an_older_checkpoint_has_its_own_skips(undisturbed, tmp_path):
    """Back at 3, where two skips are known and a third is not yet: it is found again, since 9 is damaged."""
    plant(tmp_path, WORD)
    with pytest.raises(KilledError):
        run(tmp_path, should_stop=Killer(19))
    assert Checkpoints(tmp_path / "checkpoints", keep=3).steps == [3, 6, 9]
    for step in (6, 9):
        (tmp_path / "checkpoints" / str(step) / "checksums.json").write_text("{}")
    run(tmp_path)
    assert_equal(newest(tmp_path), newest(undisturbed))
    assert lasting(tmp_path) == lasting(undisturbed)


def test_batches_by_hand():
    skips = [Skip(2, 2, 3), Skip(5, 7, 7)]
    assert [batch_of(step, skips) for step in range(8)] == [0, 1, 4, 5, 6, 8, 9, 10]
    assert [batch_of(step, []) for step in range(3)] == [0, 1, 2]


def test_what_the_log_keeps_is_what_is_read_from_it():
    records = [{"kind": "train", "step": 3}, *(skip_record(skip, "why") for skip in SKIPS), {"kind": "dev", "step": 9}]
    assert skips_of(records) == SKIPS
    assert skips_of([]) == []


@pytest.mark.slow
def test_several_processes_skip_the_same(tmp_path):
    """Only the first has the log. The text is another; two checkpoints are made anew by a run that was resumed."""
    changes = {"num_steps": 10, "checkpoint_every_steps": 3, "skip_non_finite": 5, **SEPARATE}
    for name in ("one", "two", "resumed"):
        plant(tmp_path / name, WORD)
    compiled = tmp_path / "compiled"
    ends_well(start_run(tmp_path / "one", 1, 8, compiled=compiled, **changes))
    ends_well(start_run(tmp_path / "two", 2, 4, compiled=compiled, **changes))
    ends_well(start_run(tmp_path / "resumed", 2, 4, compiled=compiled, **changes | {"num_steps": 9}))
    ends_well(start_run(tmp_path / "resumed", 2, 4, compiled=compiled, **changes))
    one, two, resumed = (read_metrics(tmp_path / name / "metrics.jsonl") for name in ("one", "two", "resumed"))
    expected = [Skip(0, 0, 2), Skip(0, 3, 4), Skip(3, 8, 10), Skip(6, 14, 15), Skip(6, 16, 16)]
    assert skips_of(one) == skips_of(two) == skips_of(resumed) == expected
    assert one[-1]["negative_log_likelihood"] == pytest.approx(two[-1]["negative_log_likelihood"], rel=1e-4)
    manifests = [tmp_path / name / "checkpoints" / "10" / "manifest" / "metadata" for name in ("two", "resumed")]
    assert manifests[0].read_text() == manifests[1].read_text()
