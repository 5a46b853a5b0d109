"""What is left of a list is told from what the runs so far have taken."""

import json
from pathlib import Path

import pytest

from experiments.ablation import estimate
from experiments.ablation.rows import row_runs
from experiments.run_list import RunList
from transformer_jax.analysis.cost import training_flops

SCALE = str(Path(__file__).resolve().parents[2] / "gin_configs" / "scale" / "builtin_eighth.gin")
STEPS = ["Training.num_steps = 1000"]


@pytest.fixture
def half_way(tmp_path) -> RunList:
    """Of base, C_N_2 and big, base has made 500 of 1,000 updates in 60 seconds."""
    runs = RunList(row_runs(["base", "C_N_2", "big"], 1, [SCALE], STEPS), tmp_path, "dev")
    folder = tmp_path / "base" / "seed_1"
    folder.mkdir(parents=True)
    per_update = {f"{name}_per_update": 10 for name in ("pairs", "source_tokens", "target_tokens")}
    records = [{"kind": "train", "step": step, "seconds": 30.0, **per_update} for step in (250, 500)]
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return runs


def test_time_goes_with_operations_and_with_what_is_left(half_way):
    speed = estimate.measured_speed(half_way)
    base, shallow, big = estimate.estimates(half_way, speed)
    assert (base.state.detail, shallow.state.detail) == ("at step 500 of 1,000", "not run")
    assert base.seconds == pytest.approx(60)
    models = {left.run.name: left.run.experiment.model for left in (base, shallow, big)}
    cost = {name: training_flops(model, 1000, source=25, target=25) for name, model in models.items()}
    for left in (shallow, big):
        assert left.seconds == pytest.approx(120 * cost[left.run.name] / cost["base/seed_1"])
    assert shallow.seconds < 60 < 240 < big.seconds
    assert speed.flops_per_second == pytest.approx(base.flops / 60)


def test_the_sum_is_told_in_time_device_hours_and_operations(half_way):
    speed = estimate.measured_speed(half_way)
    left = estimate.estimates(half_way, speed)
    *lines, total, source = estimate.render(left, speed).split("\n")
    assert [line.split()[0] for line in lines] == ["base/seed_1", "C_N_2/seed_1", "big/seed_1"]
    assert "1.0 min" in lines[0]
    hours = 8 * sum(one.seconds for one in left) / 3600
    assert total.startswith("3 runs left: ")
    assert f"{hours:.1f} device-hours on 8 x cpu, {sum(one.flops for one in left):.2e} FLOPs" in total
    assert "from 1 runs in " in source
