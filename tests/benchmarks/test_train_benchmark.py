"""The benchmark of training, but for its clock: settings, sides, what a peer is given, the report."""

import json
import os
import sys

import numpy as np
import pytest
from tiny_experiment import tiny_experiment

from benchmarks import train_settings
from benchmarks.train import require_one_model
from benchmarks.train_memory import StepBytes
from benchmarks.train_peer import write_for_peers
from benchmarks.train_report import Measured, ratios, render, speeds, utilisations
from benchmarks.train_side import Side, SideError, Turn
from benchmarks.train_start import Start, Wait
from experiments.gin_bindings import load_experiment
from transformer_jax.data.batching import Batch
from transformer_jax.errors import UserError

ANSWERS = """
import sys, time
print('{"ready": 1}', flush=True)
for line in sys.stdin:
    time.sleep(0.3)  # many times the grain of the clock that counts what others do
    print('{"seconds": 2.5, "gib": 0.5, "asked": "%s"}' % line.strip(), flush=True)
"""


@pytest.fixture
def side():
    side = Side("echo", [sys.executable, "-c", ANSWERS], dict(os.environ))
    yield side
    side.end()


def test_a_side_answers(side):
    assert side.beginning == {"ready": 1}
    assert side.ask("peak")["asked"] == "peak"
    turn = side.turn(7e9)
    assert (turn.seconds, turn.gib, turn.peak) == (2.5, 0.5, 7e9)
    assert 0 <= turn.foreign <= 1.5, "a share of all processors, but for the clock's grain"


def test_a_side_that_ends_is_named():
    with pytest.raises(SideError, match="broken ended with code 3"):
        Side("broken", [sys.executable, "-c", "raise SystemExit(3)"], dict(os.environ))


def test_settings_are_the_models_that_they_are_called_after(tmp_path):
    tiny, quarter, base = (train_settings.experiment(name, "text", tmp_path) for name in train_settings.NAMES)
    paper = load_experiment([train_settings.CONFIGS / "base.gin"])
    assert base.model == paper.model
    assert (quarter.model.num_layers, quarter.model.d_model, quarter.model.d_ff) == (6, 128, 512)
    assert (tiny.model.num_layers, tiny.model.d_model, tiny.model.d_ff) == (4, 128, 256)
    assert base.batching.tokens_per_batch == base.batching.tokens_per_device == 4096
    assert {own.data.directory for own in (tiny, quarter, base)} == {"text"}
    assert {own.optimizer.max_gradient_norm for own in (tiny, quarter, base)} == {None}, "the peer does not clip"


def test_a_peer_reads_what_was_written(tmp_path):
    batches = [Batch(np.full((2, 3), i, np.int32), np.full((2, 4), i + 10, np.int32)) for i in range(11)]
    params = {"encoder": {"layers_0": {"kernel": np.arange(6.0).reshape(2, 3)}}, "table": np.ones(2)}
    write_for_peers(tmp_path, tiny_experiment(), params, batches)
    with np.load(tmp_path / "params.npz") as read:
        assert set(read) == {"encoder/layers_0/kernel", "table"}
        np.testing.assert_array_equal(read["encoder/layers_0/kernel"], np.arange(6.0).reshape(2, 3))
    with np.load(tmp_path / "batches.npz") as read:
        assert len(read.files) == 22
        assert (read["source_10"] == 10).all()
        assert (read["target_2"] == 12).all()
    settings = json.loads((tmp_path / "settings.json").read_text())
    assert (settings["d_model"], settings["vocab_size"], settings["label_smoothing"]) == (14, 37, 0.1)


START = Start(Wait(7.0, 9.0), Wait(2.0, 3.0))
OURS = {
    "parameters": 100, "negative_log_likelihood": 3.0, "shapes": 2, "compile_seconds": 1.0, "step_bytes": 2**30,
    "dense_step_bytes": 2**31, "target_tokens": 600, "padding": 0.25, "flops": 12e9,
}  # fmt: skip
PEER = {
    "parameters": 100, "negative_log_likelihood": 3.0, "version": "2.0", "way": "plain", "threads": 2,
    "seconds_by_way": {"slow": 2.0, "plain": 1.0},
}  # fmt: skip


def measured(peer: dict | None) -> Measured:
    """600 tokens, 12 GFLOP: ours in 2 and 3 s with a peak of 12 and 8 GFLOP/s, the peer's in 3 and 6 s."""
    ours = Turn(2.0, 0.0, 1.0, 12e9), Turn(3.0, 0.1, 1.5, 8e9)
    others = (Turn(3.0, 0.0, 1.0, 1e9), Turn(6.0, 0.0, 1.0, 1e9)) if peer else (None, None)
    turns = list(zip(ours, others, strict=True))
    return Measured("tiny", tiny_experiment(), 4, START, OURS, peer, turns, {"attention": 3.0, "loss": 1.0})


# GiB: with chunks 3 of 6 and 2 of 5, and of the plainest step's 6.
MEMORY = {
    "nothing": StepBytes(2**30, 2 * 2**30, 5 * 2**30),
    "layers": StepBytes(2**30, 2**30, 4 * 2**30),
}


def test_hand_worked_figures():
    assert speeds(measured(PEER), 0) == [300, 200]
    assert speeds(measured(PEER), 1) == [200, 100]
    assert ratios(measured(PEER)) == [1.5, 2.0]
    assert utilisations(measured(PEER)) == [0.5, 0.5]


def test_the_report_holds_them():
    report = render([measured(PEER)], MEMORY)
    speed = "250 (200 to 300)", "150 (100 to 200)", "1.75 (1.50 to 2.00)", "50.0% (50.0% to 50.0%)"
    assert ["tiny", *speed] in [[cell.strip() for cell in line.split("|")[1:-1]] for line in report.split("\n")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in report.split("\n")]
    assert ["nothing", "3.00 GiB", "6.00 GiB", "50%", "50%"] in rows
    assert ["layers", "2.00 GiB", "5.00 GiB", "40%", "33%"] in rows
    for cell in ("1.50 GiB", "50%", "25.0%", "7.0 s", "9.0 s", "2.0 s", "3.0 s", "75.0%", "10.0%"):
        assert f" {cell} |" in report, cell


def test_without_a_peer_the_report_says_nothing_of_one():
    report = render([measured(None)], {})
    assert "250 (200 to 300)" in report
    assert "PyTorch," not in report.replace("PyTorch, tokens/s", "")
    assert "torch" not in report


@pytest.mark.parametrize("other", [{"parameters": 101}, {"negative_log_likelihood": 3.001}])
def test_another_model_is_refused(other):
    require_one_model(OURS, PEER, "float32")
    with pytest.raises(UserError, match="the peer's model is another"):
        require_one_model(OURS, PEER | other, "float32")
