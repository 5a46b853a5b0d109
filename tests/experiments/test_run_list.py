"""A list of runs: what is left is run, once, and what fails or is elsewhere does not stop the others."""

import json
from pathlib import Path

import pytest
from tiny_commands import snapshot

from experiments import run_list
from experiments.gin_bindings import load_experiment, resolved
from experiments.run_list import Run, RunError, RunList
from experiments.workdir import WorkdirError, claim
from transformer_jax.lock import taken
from transformer_jax.training.loop import Observer
from transformer_jax.training.window import TrainingError

BASE = str(Path(__file__).resolve().parents[2] / "gin_configs" / "base.gin")
NAMES = ["one/seed_1", "two/seed_1", "one/seed_2"]


def run(name: str, *bindings: str) -> Run:
    return Run(name, load_experiment([BASE], [*bindings, f"Training.seed = {name[-1]}"]))


class Machine:
    """Stands for training and scoring: notes what it is asked for, and fails where it is told to."""

    def __init__(self):
        self.trained, self.scored, self.said = [], [], []
        self.fails: dict[str, Exception] = {}
        self.stops_in: str | None = None

    def stopped(self) -> bool:
        return bool(self.trained) and self.trained[-1] == self.stops_in

    def train(self, folder, experiment, observer):
        name = f"{folder.parent.name}/{folder.name}"
        claim(folder, experiment, accept_changes=False)
        self.trained.append(name)
        observer.should_stop()
        if name in self.fails:
            raise self.fails[name]

    def score(self, folder, experiment, split, *, trained):
        assert trained is None
        self.scored.append(f"{folder.parent.name}/{folder.name}")
        (folder / "results.json").write_text(json.dumps({split: {"settings": resolved(experiment)}}))

    def work(self, listed: RunList, *, at_most: int | None = None) -> list[str]:
        """What was trained in this pass."""
        before = len(self.trained)
        observer = Observer(record=print, say=self.said.append, should_stop=self.stopped)
        listed.work(at_most=at_most, observer=observer)
        return self.trained[before:]


@pytest.fixture
def machine(monkeypatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(run_list, "train_in", machine.train)
    monkeypatch.setattr(run_list, "score_in", machine.score)
    return machine


@pytest.fixture
def listed(tmp_path) -> RunList:
    return RunList([run(name) for name in NAMES], tmp_path / "list", "dev")


def kinds(listed: RunList) -> list[str]:
    return [listed.state(run).kind for run in listed.runs]


def test_all_are_run_in_order_and_none_again(machine, listed):
    assert kinds(listed) == ["not run"] * 3
    assert machine.work(listed) == machine.scored == NAMES
    assert kinds(listed) == ["finished"] * 3
    before = snapshot(listed.root)
    assert machine.work(listed) == []
    assert snapshot(listed.root) == before


def test_a_process_takes_no_more_than_it_is_told(machine, listed):
    assert machine.work(listed, at_most=2) == NAMES[:2]
    assert [run.name for run in listed.left()] == NAMES[2:]
    assert machine.work(listed, at_most=2) == NAMES[2:]
    assert machine.work(listed, at_most=2) == listed.left() == []


def test_a_longer_list_runs_what_it_has_more(machine, listed):
    machine.work(RunList(listed.runs[:1], listed.root, "dev"))
    assert machine.work(listed) == NAMES[1:]


def test_what_was_stopped_goes_on_and_nothing_after_it_was_begun(machine, listed):
    machine.stops_in = NAMES[1]
    machine.work(listed)
    assert machine.scored == NAMES[:1]
    assert kinds(listed) == ["finished", "unfinished", "not run"]
    machine.stops_in = None
    assert machine.work(listed) == NAMES[1:]
    assert kinds(listed) == ["finished"] * 3


def test_how_far_an_unfinished_run_is(machine, listed):
    machine.stops_in = NAMES[0]
    machine.work(listed)
    folder = listed.root / NAMES[0]
    assert listed.state(listed.runs[0]).detail == "at step 0 of 100,000"
    (folder / "metrics.jsonl").write_text('{"kind": "train", "step": 1200}\n{"kind": "dev", "step": 1300}\n{"kin')
    assert listed.state(listed.runs[0]).detail == "at step 1,300 of 100,000"


@pytest.mark.parametrize("error", [TrainingError("step 7: the loss is nan"), RuntimeError("out of memory:\n1 PB")])
def test_a_failure_is_noted_and_the_others_go_on(machine, listed, error):
    machine.fails[NAMES[1]] = error
    assert machine.work(listed) == NAMES
    assert kinds(listed) == ["finished", "failed", "finished"]
    note = json.loads((listed.root / NAMES[1] / "failure.json").read_text())
    assert note["error"] in ("step 7: the loss is nan", "RuntimeError: out of memory:")
    assert type(error).__name__ in note["traceback"]
    assert {"command", "machine", "date"} <= note.keys()
    with pytest.raises(RunError, match=rf"^1 of 3 runs failed \(--retry_failed .*two/seed_1 failed: {note['error']}$"):
        listed.require_none_failed()


def test_a_failed_run_is_retried_on_request_only(machine, listed):
    machine.fails[NAMES[1]] = TrainingError("nan")
    machine.work(listed)
    assert machine.work(listed) == []
    listed.forget_failures()
    assert machine.work(listed) == [NAMES[1]]
    assert kinds(listed)[1] == "failed", "it failed again"
    machine.fails.clear()
    listed.forget_failures()
    machine.work(listed)
    assert kinds(listed) == ["finished"] * 3
    listed.require_none_failed()


def test_a_run_that_another_process_has_is_left_to_it(machine, listed):
    folder = listed.root / NAMES[1]
    claim(folder, listed.runs[1].experiment, accept_changes=False)
    with taken(folder / ".run.lock"):
        assert machine.work(listed) == [NAMES[0], NAMES[2]]
    assert any(line.startswith("two/seed_1: process ") for line in machine.said)
    assert machine.work(listed) == [NAMES[1]]


def test_two_processes_never_have_one_run(machine, listed):
    """The second looks at the list from within the first's training."""
    other = Machine()
    train = machine.train

    def train_beside(folder, experiment, observer):
        if not other.trained:
            other.trained.append("begun")
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(run_list, "train_in", other.train)
                other.work(listed)
        train(folder, experiment, observer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_list, "train_in", train_beside)
        machine.work(listed)
    assert other.trained == ["begun", *NAMES[1:]]
    assert machine.trained == NAMES[:1]


def test_a_folder_of_another_config_is_refused_before_anything_runs(machine, listed):
    claim(listed.root / NAMES[2], run(NAMES[2], "Model.d_ff = 64").experiment, accept_changes=False)
    before = snapshot(listed.root)
    with pytest.raises(WorkdirError, match=r"one/seed_2 was made with another config \(Model.d_ff: 64 -> 2048\)"):
        listed.require_own()
    assert snapshot(listed.root) == before
    assert machine.trained == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace('"Decoding.beam_size": 4', '"Decoding.beam_size": 1'), r"beam_size: 1 -> 4\)"),
        (lambda text: text[:40], "is not a run's results: move it away"),
        (lambda _: '{"dev": {"bleu": 3}}', "is not a run's results: move it away"),
        (lambda _: "[]", "is not a run's results: move it away"),
    ],
)
def test_results_of_something_else_are_refused(machine, listed, change, message):
    machine.work(listed)
    path = listed.root / NAMES[0] / "results.json"
    path.write_text(change(path.read_text()))
    before = snapshot(listed.root)
    with pytest.raises(WorkdirError, match=message) as caught:
        listed.require_own()
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert snapshot(listed.root) == before
