"""A run: stopped and resumed it is the uninterrupted one; what it measures is true; it ends when it should."""

import math
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny_experiment import VOCAB_SIZE, random_corpus, tiny_experiment
from train_states import assert_equal, files_of, silent

from transformer_jax import parallel
from transformer_jax.data.batching import make_batch
from transformer_jax.model.transformer import Transformer
from transformer_jax.special_ids import PAD_ID
from transformer_jax.training import loop
from transformer_jax.training.checkpoint import Checkpoints
from transformer_jax.training.loop import Observer, batch_plan, train
from transformer_jax.training.metrics_log import read_metrics
from transformer_jax.training.optimizer import make_optimizer
from transformer_jax.training.step import TrainState, initial_state
from transformer_jax.training.window import TrainingError

pytestmark = pytest.mark.usefixtures("compiled_once")
TRAIN, DEV = random_corpus(1, 37), random_corpus(2, 13)
EXPERIMENT = tiny_experiment()


@dataclass
class Run:
    """A run in `workdir`, watched; stopped after `stop_at` if that is a step."""

    workdir: Path
    records: list = field(default_factory=list)
    lines: list = field(default_factory=list)
    compiled: list = field(default_factory=list)  # how many programs there were at each record

    def train(self, *, stop_at: int | None = None, **changes) -> "Run":
        programs, asked = [], []

        def listen(event: str, _seconds: float, *, fun_name: str = "", **_) -> None:
            if event == "/jax/core/compile/backend_compile_duration" and fun_name.startswith("jit(_fun"):
                programs.append(fun_name)  # what jax.pmap calls a step

        def record(line) -> None:
            self.records.append(line)
            self.compiled.append(len(programs))

        def should_stop() -> bool:
            asked.append(True)
            return len(asked) == stop_at

        jax.monitoring.register_event_duration_secs_listener(listen)
        try:
            self.updates = train(
                tiny_experiment(**changes), TRAIN, DEV, self.workdir, Observer(record, self.lines.append, should_stop)
            )
        finally:
            jax.monitoring.unregister_event_duration_listener(listen)
        return self

    def state(self, folder: str = "checkpoints") -> TrainState:
        """The newest on disk."""
        return Checkpoints(self.workdir / folder, keep=3).restore_newest(new_state(), silent)

    def steps(self, folder: str = "checkpoints") -> list[int]:
        return Checkpoints(self.workdir / folder, keep=3).steps


def new_state() -> TrainState:
    model = Transformer(EXPERIMENT.model, VOCAB_SIZE)
    return parallel.replicate(initial_state(model, make_optimizer(EXPERIMENT), EXPERIMENT.training.seed))


def lasting(record) -> dict:
    """A record without what depends on the clock."""
    return {name: value for name, value in record.items() if "second" not in name}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Run:
    """Ten updates without a stop, two epochs."""
    return Run(tmp_path_factory.mktemp("whole")).train()


def test_a_run_makes_its_updates_and_keeps_the_last(whole):
    assert whole.updates == 10
    assert batch_plan(EXPERIMENT, TRAIN).steps_per_epoch == 5
    assert whole.steps() == [10]
    assert int(whole.state().step) == 10
    assert [(record["kind"], record["step"]) for record in whole.records] == [
        *(("train", step) for step in (2, 4, 6, 8, 10)), ("dev", 10),
    ]  # fmt: skip
    assert read_metrics(whole.workdir / "metrics.jsonl") == whole.records
    assert whole.lines == ["compiled, step 1 is under way"]


def test_a_stopped_run_goes_on_as_if_nothing_had_been(whole, tmp_path):
    run = Run(tmp_path).train(stop_at=6)
    assert run.updates == 6
    assert (run.steps(), run.steps("interrupted")) == ([], [6])
    stopped = "stopped at step 6, saved; the same command goes on from here"
    assert run.lines == ["compiled, step 1 is under way", stopped]
    with pytest.raises(AssertionError):
        assert_equal(run.state("interrupted").params, whole.state().params)
    run.lines.clear()
    run.train()
    assert run.lines == ["resumed from step 6", "compiled, step 7 is under way"]
    assert list(map(lasting, run.records)) == list(map(lasting, whole.records))
    assert list(map(lasting, read_metrics(tmp_path / "metrics.jsonl"))) == list(map(lasting, whole.records))
    assert_equal(run.state(), whole.state())


def test_a_stop_between_records_leaves_a_record(whole, tmp_path):
    run = Run(tmp_path).train(stop_at=3)
    assert [record["step"] for record in run.records] == [2, 3]
    assert run.records[1]["kind"] == "train"
    assert run.steps("interrupted") == [3]
    assert lasting(run.records[0]) == lasting(whole.records[0])


def test_a_stop_changes_no_checkpoint_that_an_average_is_made_of(whole, tmp_path):
    """At 6, between 5 and 10: the checkpoints are those of a run that was not stopped, as many and as old."""
    run = Run(tmp_path).train(stop_at=6, checkpoint_every_steps=5)
    assert (run.steps(), run.steps("interrupted")) == ([5], [6])
    run.train(checkpoint_every_steps=5)
    assert run.steps() == [5, 10]
    assert "resumed from step 6" in run.lines
    assert_equal(run.state(), whole.state())


def test_a_damaged_interrupted_state_is_said_and_the_last_checkpoint_used(whole, tmp_path):
    run = Run(tmp_path).train(stop_at=6, checkpoint_every_steps=5)
    (tmp_path / "interrupted" / "6" / "checksums.json").write_text("{}")
    run.lines.clear()
    run.train(checkpoint_every_steps=5)
    damaged, resumed, _ = run.lines
    assert damaged.startswith(f"checkpoint {tmp_path / 'interrupted' / '6'} is damaged: ")
    assert resumed == "resumed from step 5"
    assert run.steps("interrupted") == []
    assert_equal(run.state(), whole.state())


def test_a_finished_run_stays_as_it_is(whole):
    before = {path: path.read_bytes() for path in files_of(whole.workdir) if "tensorboard" not in path.parts}
    again = Run(whole.workdir).train()
    assert again.updates == 10
    assert again.records == []
    after = {path: path.read_bytes() for path in files_of(whole.workdir) if "tensorboard" not in path.parts}
    assert after == before


def test_there_is_one_compilation_a_shape(whole):
    plan = batch_plan(EXPERIMENT, TRAIN)
    assert len({plan.batch_shape(step) for step in range(10)}) == len(plan.shapes) == 2
    *training, dev = whole.compiled
    assert training[-1] == 2
    assert dev - training[-1] <= 2


def test_a_records_numbers(whole):
    """The first record's, from the batches themselves."""
    plan = batch_plan(EXPERIMENT, TRAIN)
    batches = [plan.batch(TRAIN, step) for step in (0, 1)]
    source_tokens, tokens = (sum(map(np.count_nonzero, side)) for side in zip(*batches, strict=True))
    positions = sum(batch.source.size + batch.target.size for batch in batches)
    record = whole.records[0]
    assert record["target_tokens_per_update"] == tokens / 2
    assert record["source_tokens_per_update"] == source_tokens / 2
    assert record["pairs_per_update"] == sum(np.count_nonzero(batch.target.any(1)) for batch in batches) / 2
    assert record["padding_share"] == pytest.approx(1 - (source_tokens + tokens) / positions)
    assert 0 < record["padding_share"] < 1
    assert record["epoch"] == 2 / 5
    assert record["learning_rate"] == pytest.approx(14**-0.5 * 2 * 5**-1.5)
    assert record["target_tokens_per_second"] == pytest.approx(tokens / record["seconds"])
    assert record["negative_log_likelihood"] == pytest.approx(math.log(VOCAB_SIZE), rel=0.5)
    checksums = [record["batches_crc32"] for record in whole.records[:-1]]
    assert len(set(checksums)) == 5


def test_dev_perplexity_is_that_of_the_whole_split(whole):
    """From the logits of all pairs in one batch; without smoothing, per token, the end token counted."""
    sources, targets = make_batch(DEV, np.arange(13), (13, 8, 8))
    params = jax.tree.map(np.asarray, whole.state().params)
    apply = jax.jit(partial(Transformer(EXPERIMENT.model, VOCAB_SIZE).apply, deterministic=True))
    logits = np.float64(apply({"params": params}, sources, targets))
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    of_targets = np.take_along_axis(log_probs, targets[..., None], axis=-1)[..., 0][targets != PAD_ID]
    assert len(of_targets) == DEV.target_lengths.sum()
    record = whole.records[-1]
    assert record["negative_log_likelihood"] == pytest.approx(-of_targets.mean(), rel=1e-5)
    assert record["perplexity"] == pytest.approx(math.exp(-of_targets.mean()), rel=1e-5)


def start_from(workdir: Path, change) -> None:
    """A checkpoint of step 4, its state changed."""
    state = new_state()._replace(step=jnp.asarray(4, jnp.int32))
    Checkpoints(workdir / "checkpoints", keep=3).save(change(state))


def test_a_loss_that_is_not_finite_ends_the_run_and_is_not_kept(tmp_path):
    start_from(tmp_path, lambda state: state._replace(params=jax.tree.map(lambda leaf: leaf * np.nan, state.params)))
    run = Run(tmp_path)
    with pytest.raises(TrainingError, match=r"^step 5: the loss is nan, the gradient norm nan; .*$"):
        run.train()
    assert run.records == []
    assert run.steps() == [4]


def test_parameters_that_are_not_finite_are_not_kept(tmp_path):
    """The loss of step 5 is finite; its update is not."""

    def burden(state: TrainState) -> TrainState:
        adam, *rest = state.opt_state
        huge = jax.tree.map(lambda leaf: leaf + np.float32(3e38), adam.mu)
        return state._replace(opt_state=(adam._replace(mu=huge), *rest))

    start_from(tmp_path, burden)
    run = Run(tmp_path)
    with pytest.raises(TrainingError, match=r"^step 5: a parameter is not finite; .*$"):
        run.train(checkpoint_every_steps=5)
    assert run.steps() == [4]


def test_a_run_out_of_patience_ends_and_is_not_resumed(tmp_path, monkeypatch):
    losses = iter([3.0, 2.0, 2.5, 2.0, 1.0])
    monkeypatch.setattr(loop, "dev_loss", lambda *_: lambda _: {"negative_log_likelihood": next(losses)})
    patient = {"evaluate_every_steps": 1, "patience": 2}
    run = Run(tmp_path).train(**patient)
    assert run.updates == 4
    assert run.steps() == [4]
    assert Run(tmp_path).train(**patient).updates == 4
    assert next(losses) == 1.0
