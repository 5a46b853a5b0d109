"""The command: real runs swept, stopped, gone on with, decoded with; and what is refused."""

import json
from pathlib import Path

import pytest
from tiny_commands import PROJECT_ROOT, StopAfter, require_one_line, run_command, snapshot, write_corpus

from experiments import command

pytestmark = pytest.mark.usefixtures("compiled_once")
SWEEPS = PROJECT_ROOT / "gin_configs" / "sweeps"


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> Path:
    """What varies needs no program of its own, so that all trials share one."""
    tiny = write_corpus(tmp_path_factory.mktemp("corpus") / "text")
    path = tiny.with_name("sweep.gin")
    path.write_text(f"""include "{tiny}"
include "{SWEEPS / "sweep.gin"}"
Training.num_steps = 20
Training.evaluate_every_steps = 5
Sweep.trials = 3
Sweep.sampler = "grid"
Sweep.pruner = "none"
sweep/Training.checkpoint_every_steps = ("choice", 5, 10, 20)
""")
    return path


def sweep(config: Path, workdir: Path, *flags: str):
    return run_command("sweep", f"--gin_file={config}", f"--workdir={workdir}", *flags)


@pytest.fixture(scope="module")
def workdir(config, tmp_path_factory) -> Path:
    """Stopped within the second trial, then gone on with."""
    folder = tmp_path_factory.mktemp("sweeps") / "sweep"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "StopOnSignal", lambda: StopAfter(20 + 4 + 9))
        stopped = sweep(config, folder)
    assert b"3 trials" not in stopped.out
    assert b"1 finished, 1 unfinished" in stopped.out
    ended = sweep(config, folder)
    assert ended.code == 0, ended.err
    assert "resumed from step" in ended.err
    return folder


def test_each_trial_is_a_run_with_all_that_a_run_leaves(workdir):
    for number in range(3):
        run = workdir / f"trial_{number:04d}" / "seed_1"
        entry = json.loads((run / "results.json").read_text())["dev"]
        assert entry["settings"]["Training.checkpoint_every_steps"] == (5, 10, 20)[number]
        assert entry["training"]["updates"] == 20
        assert entry["bleu"]["signature"]
    listed = run_command("runs", "list", str(workdir), "--format=csv")
    assert listed.out.decode().count("scored") == 3


def test_the_report_has_all_trials(workdir):
    assert (workdir / "leaderboard.md").read_text().startswith("3 trials: 3 finished\n")
    assert {"trials.csv", "best.gin", "sweep.json", "study.db"} <= {path.name for path in workdir.iterdir()}


def test_a_finished_sweep_is_only_reported_on(workdir, config):
    before = {name: digest for name, digest in snapshot(workdir).items() if name.startswith("trial_")}
    assert sweep(config, workdir).code == 0
    assert sweep(config, workdir, "--report_only").code == 0
    assert {name: digest for name, digest in snapshot(workdir).items() if name.startswith("trial_")} == before


@pytest.mark.slow
def test_a_trained_run_is_decoded_with_in_every_way_of_the_grid(workdir, tmp_path):
    run = workdir / "trial_0001" / "seed_1"
    before = snapshot(run)
    ended = run_command(
        "sweep", f"--gin_file={SWEEPS / 'decoding.gin'}", f"--workdir={tmp_path / 'decoding'}",
        f'--gin_param=Sweep.trained = "{run}"', '--gin_param=sweep/Decoding.beam_size = ("choice", 1, 3)',
        '--gin_param=sweep/Decoding.length_penalty = ("choice", 0.6)',
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert ended.out.startswith(b"2 trials: 2 finished\n")
    assert snapshot(run) == before
    one, three = (tmp_path / "decoding" / f"trial_000{number}" / "seed_1" for number in range(2))
    assert json.loads((one / "results.json").read_text())["dev"]["settings"]["Decoding.beam_size"] == 1
    assert not (one / "checkpoints").exists()
    compared = run_command("compare", str(one), str(three), "--split=dev")
    assert compared.code == 0, compared.err
    assert "Decoding.beam_size" in compared.out.decode()


@pytest.mark.parametrize(
    ("flags", "pattern"),
    [
        (
            ["--gin_param=sweep/Model.dropout = ('uniform', 0.0, 0.1)"],
            r".*Model.dropout is no setting; did you .*",
        ),
        (["--gin_param=sweep/Model.d_ff = ('choise', 8, 9)"], r".*choise is no distribution; did you mean choice\?"),
        (["--gin_param=sweep/Training.log_every_steps = ('choice', 8, 9)"], r".* cannot be swept: no score depends .*"),
        (["--report_only"], r".*new holds no sweep \(it has no sweep.json\): there is nothing to report"),
        (["--trials=0"], r".*Sweep.trials = 0: must be at least 1"),
        (["--gin_param=Data.train = 'nowhere.tsv'"], r".*nowhere\.tsv.*"),
        (["--storage=sqlite:////nowhere/at/all.db"], r"--storage=sqlite:////nowhere/at/all.db: .*unable to open .*"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_trained(config, tmp_path, flags, pattern):
    require_one_line(sweep(config, tmp_path / "new", *flags), pattern)
    assert not list((tmp_path / "new").glob("trial_*"))


def test_another_space_is_refused_and_nothing_is_changed(config, workdir):
    before = snapshot(workdir)
    ended = sweep(config, workdir, "--gin_param=sweep/Model.d_ff = ('choice', 8, 9)")
    require_one_line(ended, r".* holds another sweep \(sweep/Model.d_ff: not said -> .*\): choose another --workdir")
    assert snapshot(workdir) == before
