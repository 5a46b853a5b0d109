"""Runs from before a setting came: they are read as what they were, and nothing else may lack a setting."""

import json
from pathlib import Path

import pytest

from experiments.added_settings import ADDED
from experiments.gin_bindings import load_experiment, resolved
from experiments.run_list import Run, RunList
from experiments.workdir import claim, read_experiment
from transformer_jax.checked import ConfigError

BASE = load_experiment([Path(__file__).resolve().parents[2] / "gin_configs" / "base.gin"])


def without_what_was_added(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(tuple(ADDED)))


@pytest.fixture
def old_run(tmp_path) -> Path:
    """A finished run of base as an older version of the code left it."""
    run = tmp_path / "old"
    claim(run, BASE, accept_changes=False)
    config = run / "config.gin"
    config.write_text(without_what_was_added(config.read_text()))
    settings = {name: value for name, value in resolved(BASE).items() if name not in ADDED}
    (run / "results.json").write_text(json.dumps({"dev": {"settings": settings}}))
    return run


def test_the_values_are_those_of_the_base_model():
    """Which is what every config was made of when there was no setting."""
    assert ADDED
    assert resolved(BASE).items() >= ADDED.items()


def test_an_old_run_is_read_gone_on_with_and_found_finished(old_run):
    before = (old_run / "config.gin").read_text()
    assert read_experiment(old_run, [], []) == BASE
    assert claim(old_run, BASE, accept_changes=False) == []
    assert RunList([Run(old_run.name, BASE)], old_run.parent, "dev").left() == []
    assert (old_run / "config.gin").read_text() == before


def test_a_config_that_somebody_writes_says_every_setting(old_run):
    for name in ADDED:
        with pytest.raises(ConfigError, match=f"not set by any file or binding: .*{name}"):
            load_experiment([old_run / "config.gin"])
