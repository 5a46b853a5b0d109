"""`prepare` counts, `train` makes a run."""

import json
import re

import numpy as np
import pytest
from tiny_commands import SIZES, require_one_line, run_command, sentence_pairs, snapshot

from experiments.gin_bindings import load_experiment
from experiments.workdir import read_experiment, read_vocabulary
from transformer_jax.lock import taken
from transformer_jax.training.metrics_log import read_metrics


@pytest.fixture(scope="module")
def prepared(trained_config, tmp_path_factory):
    """What `prepare` printed, and the workdir that it began."""
    workdir = tmp_path_factory.mktemp("prepared") / "run"
    ended = run_command("prepare", f"--gin_file={trained_config}", f"--workdir={workdir}")
    assert (ended.code, ended.err) == (0, "")
    return ended.out.decode(), workdir


def test_prepare_prints_what_there_is(prepared, trained):
    printed, _ = prepared
    vocabulary = read_vocabulary(trained)
    for seed, (split, size) in enumerate(SIZES.items()):
        pairs = sentence_pairs(size, seed)
        lengths = [[len(vocabulary.encode(pair[side])) + 1 for pair in pairs] for side in (0, 1)]
        (row,) = [line for line in printed.splitlines() if re.match(rf"\W*{split}\b", line)]
        counts = [int(cell.replace(",", "")) for cell in re.findall(r"(?<=[│ ])[\d,]+(?= )", row)]
        assert counts == [size, sum(lengths[0]), sum(lengths[1]), max(map(max, lengths))]
    assert "en -> de, 71 pieces" in printed
    assert "training uses 211 pairs: 0 have an empty side and 0 more than 31 tokens" in printed


def test_prepare_begins_the_run_that_train_would(prepared, trained):
    _, workdir = prepared
    begun, run = snapshot(workdir), snapshot(trained)
    assert begun.keys() == {"config.gin", "vocabulary.model"}
    assert begun.items() <= run.items()


def test_train_writes_the_files_of_a_run(trained, trained_config):
    assert set((trained.parent / "files.txt").read_text().split("\n")) == {
        "config.gin", "vocabulary.model", "checkpoints", "interrupted", "metrics.jsonl", "tensorboard",
        "launches.jsonl", ".training.lock",
    }  # fmt: skip
    assert sorted(path.name for path in (trained / "checkpoints").iterdir()) == ["100", "150", "50"]
    assert [path.stat().st_size > 0 for path in (trained / "tensorboard").iterdir()] == [True]
    assert read_experiment(trained, [], []) == load_experiment([trained_config])
    (launch,) = [json.loads(line) for line in (trained / "launches.jsonl").read_text().splitlines()]
    assert launch["command"].startswith("python -m experiments.train --gin_file=")


def test_train_logs_losses_that_fall(trained):
    records = read_metrics(trained / "metrics.jsonl")
    assert [(record["kind"], record["step"]) for record in records] == [
        ("train", 50), ("train", 100), ("dev", 100), ("train", 150), ("dev", 150),
    ]  # fmt: skip
    losses = [record["loss"] for record in records if record["kind"] == "train"]
    assert losses == sorted(losses, reverse=True)
    for record in records:
        if record["kind"] == "dev":
            assert record["perplexity"] == pytest.approx(np.exp(record["negative_log_likelihood"]))


def test_train_learns_from_smoothed_labels(trained):
    """No loss is below the entropy of its target, 0.9 and seventy times 0.1 / 70, as it would soon be without."""
    entropy = -0.9 * np.log(0.9) - 0.1 * np.log(0.1 / 70)
    records = [record for record in read_metrics(trained / "metrics.jsonl") if record["kind"] == "train"]
    assert records[-1]["negative_log_likelihood"] < entropy / 1.5
    assert all(record["loss"] > entropy for record in records)


def test_train_tells_a_person_what_it_does(trained):
    told = (trained.parent / "train.err").read_text()
    assert "en -> de: 211 training pairs, 71 pieces\n" in told
    assert re.search(r"^step +150/150  loss \d\.\d{4}  lr ", told, re.MULTILINE)
    assert re.search(r"^step +150  dev perplexity 1\.\d{3}$", told, re.MULTILINE)


@pytest.mark.parametrize("flags", [[], ["--accept_changes", "--gin_param=Training.num_steps = 400"]])
def test_a_run_that_is_being_trained_is_left_alone(copied, trained_config, flags):
    with taken(copied / ".training.lock"):
        before = snapshot(copied)
        ended = run_command("train", f"--gin_file={trained_config}", f"--workdir={copied}", *flags)
        require_one_line(ended, r".*: process \d+ on .* trains there")
        assert snapshot(copied) == before
