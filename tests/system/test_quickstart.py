"""The quickstart, as the Makefile runs it, learns what it promises."""

import json
import subprocess
import sys

import pytest
from tiny_commands import PROJECT_ROOT


@pytest.mark.slow
def test_it_translates_the_held_out_pairs(tmp_path):
    run = tmp_path / "run"
    config, cache = "gin_configs/quickstart.gin", f'Data.cache_directory = "{tmp_path / "cache"}"'
    for command in (
        ["experiments.train", f"--gin_file={config}", f"--gin_param={cache}", f"--workdir={run}"],
        ["experiments.evaluate", f"--workdir={run}", "--split=test"],
    ):
        subprocess.run([sys.executable, "-m", *command], cwd=PROJECT_ROOT, check=True)
    result = json.loads((run / "results.json").read_text())["test"]
    assert result["sentences"] >= 500
    assert result["bleu"]["value"] >= 90
    assert result["exact_match_percent"] >= 75
