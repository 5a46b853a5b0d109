"""What makes a GPU repeat itself is set for the process that computes."""

import os

import pytest
from tiny_experiment import tiny_experiment

from experiments.determinism import make_deterministic

FLAG = "--xla_gpu_deterministic_ops=true"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", FLAG),
        ("--xla_dump_to=x", f"--xla_dump_to=x {FLAG}"),
        (FLAG, FLAG),
        ("--xla_gpu_deterministic_ops=true_not", f"--xla_gpu_deterministic_ops=true_not {FLAG}"),
    ],
)
def test_it_is_added_to_the_flags_that_are_there_once(before, after, monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", before)
    said = make_deterministic(tiny_experiment(deterministic=True).training)
    assert os.environ["XLA_FLAGS"] == after
    assert said is not None
    assert FLAG in said


def test_nothing_is_set_where_it_is_not_asked_for(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=x")
    assert make_deterministic(tiny_experiment(deterministic=False).training) is None
    assert os.environ["XLA_FLAGS"] == "--xla_dump_to=x"
