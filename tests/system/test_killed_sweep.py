"""A sweep's command, killed again and again, ends with the trials that it would have made at once."""

from pathlib import Path

import pytest
from killed_command import kill, run, starter
from tiny_commands import PROJECT_ROOT, write_corpus
from tiny_rows import quality

# After so many lines on standard error: before and in training, beside a checkpoint, while scoring, in a later trial.
KILLED_AFTER_LINES = (1, 4, 6, 9, 12, 14, 16)
SWEEP = """include "{tiny}"
include "{sweep}"
Training.num_steps = 30
Training.evaluate_every_steps = 5
Training.checkpoint_every_steps = 10
Training.log_every_steps = 5
Sweep.trials = 4
Sweep.unpruned_trials = 1
sweep/Optimizer.learning_rate_scale = ("log_uniform", 0.01, 3.0)
sweep/Optimizer.warmup_steps = ("integer", 10, 40)
"""


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    tiny = write_corpus(tmp_path_factory.mktemp("corpus") / "text")
    config = tiny.with_name("sweep.gin")
    config.write_text(SWEEP.format(tiny=tiny, sweep=PROJECT_ROOT / "gin_configs" / "sweeps" / "sweep.gin"))
    return starter(tmp_path_factory.mktemp("compiled"), "sweep", f"--gin_file={config}")


def trials(workdir: Path) -> list[dict[str, str]]:
    return [{name: value for name, value in row.items() if name != "begun"} for row in quality(workdir / "trials.csv")]


@pytest.mark.slow
def test_the_trials_do_not_depend_on_how_often_the_sweep_was_killed(start, tmp_path):
    run(start, tmp_path / "at_once")
    kill(start, tmp_path / "killed", KILLED_AFTER_LINES)
    run(start, tmp_path / "killed")
    assert len(trials(tmp_path / "killed")) == 4
    assert trials(tmp_path / "killed") == trials(tmp_path / "at_once")
    assert {row["state"] for row in trials(tmp_path / "killed")} <= {"finished", "pruned"}
