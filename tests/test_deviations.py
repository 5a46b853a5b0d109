"""A deviation is a small file that changes, on top of any config, what it binds and nothing else."""

import re
from pathlib import Path
from typing import get_args

import pytest
from test_configs import BASE
from test_table3_configs import bindings

from experiments.gin_bindings import load_experiment, resolved
from transformer_jax.config import SmoothingOver
from transformer_jax.training.optimizer import learning_rate_schedule

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "gin_configs"
DEVIATIONS = {path.stem: path for path in sorted((CONFIGS / "deviations").iterdir())}
SECTION = (ROOT / "README.md").read_text(encoding="utf-8").split("Switches for the known discrepancies")[1]
ROWS = re.findall(r"^\| `(\w+)` \| (`.+) \|", SECTION.split("\n## ")[0], re.MULTILINE)

pytestmark = pytest.mark.usefixtures("unchecked_types")


def test_the_readme_lists_them_all_with_what_they_bind():
    assert len(ROWS) == len(DEVIATIONS) > 15
    listed = {name: re.findall(r"`(\w+\.\w+ = [^`]+)`", settings) for name, settings in ROWS}
    assert listed == {
        name: [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        for name, path in DEVIATIONS.items()
    }


@pytest.mark.parametrize("name", DEVIATIONS)
def test_a_deviation_changes_what_it_binds_and_nothing_else(name):
    """Of the base model, to other values."""
    bound = dict(bindings(DEVIATIONS[name]))
    changed = resolved(load_experiment([CONFIGS / "base.gin", DEVIATIONS[name]]))
    assert bound
    assert {setting: value for setting, value in changed.items() if value != BASE[setting]} == bound


@pytest.mark.parametrize("name", DEVIATIONS)
def test_a_deviation_opens_with_what_the_paper_says_and_what_to_expect(name):
    """Nothing is included, so that it goes on top of anything."""
    comment, code = re.fullmatch(r"((?:# .+\n)+)((?:\w+\.\w+ = .+\n)+)", DEVIATIONS[name].read_text("utf-8")).groups()
    assert "# The paper" in comment
    assert "# Expected: " in comment
    assert max(map(len, comment.splitlines())) <= 120
    assert "include" not in code


def test_deviations_go_together_on_top_of_a_row_and_a_scale():
    files = [CONFIGS / "table3" / "A_h_1.gin", CONFIGS / "scale" / "multi30k_quarter.gin"]
    row = resolved(load_experiment(files))
    names = ["pre_norm", "label_smoothing_over_all", "warmup_8000"]
    both = resolved(load_experiment([*files, *(DEVIATIONS[name] for name in names)]))
    assert {setting: value for setting, value in both.items() if value != row[setting]} == {
        "Model.pre_norm": True,
        "Training.label_smoothing_over": "all",
        "Optimizer.warmup_steps": 8_000,
        "Optimizer.learning_rate_scale": 2.0,
    }


def test_every_way_to_smooth_labels_is_the_base_model_s_or_a_deviation():
    bound = [dict(bindings(path)).get("Training.label_smoothing_over") for path in DEVIATIONS.values()]
    assert sorted(filter(None, [*bound, BASE["Training.label_smoothing_over"]])) == sorted(get_args(SmoothingOver))


def test_peak_rates_are_those_that_were_published():
    """6.99e-4 in the paper and 9.88e-4 in tensor2tensor since October 2017, at d_model 512."""
    for files, steps, peak in (([], 4_000, 6.99e-4), ([DEVIATIONS["warmup_8000"]], 8_000, 9.88e-4)):
        schedule = learning_rate_schedule(load_experiment([CONFIGS / "base.gin", *files]))
        assert float(schedule(steps - 1)) == pytest.approx(peak, rel=1e-3)
        assert max(float(schedule(count)) for count in (steps - 2, steps)) < float(schedule(steps - 1))
