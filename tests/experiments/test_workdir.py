"""A workdir is one run's: what is not this experiment's is refused, and left as it is."""

from pathlib import Path

import pytest

from experiments.gin_bindings import load_experiment, resolved
from experiments.workdir import (
    WorkdirError,
    claim,
    differences,
    keep_vocabulary,
    read_experiment,
    read_vocabulary,
    write_text,
)
from transformer_jax.data.vocabulary import VocabularyError, learn_vocabulary

BASE = Path(__file__).resolve().parents[2] / "gin_configs" / "base.gin"
TEXT = ["the small dog", "der kleine hund"]


def experiment_with(*bindings):
    return load_experiment([BASE], bindings)


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file's content and time of change."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.fixture
def claimed(tmp_path):
    """The workdir of the base experiment."""
    workdir = tmp_path / "runs" / "base"
    assert claim(workdir, experiment_with(), accept_changes=False) == []
    return workdir


def test_a_new_workdir_holds_the_config_in_full(claimed):
    assert [path.name for path in claimed.iterdir()] == ["config.gin"]
    assert load_experiment([claimed / "config.gin"]) == experiment_with()


def test_an_empty_folder_will_do(tmp_path):
    assert claim(tmp_path, experiment_with(), accept_changes=False) == []
    assert (tmp_path / "config.gin").exists()


@pytest.mark.parametrize("accept_changes", [False, True])
def test_the_same_experiment_goes_on_and_writes_nothing(claimed, accept_changes):
    before = snapshot(claimed)
    assert claim(claimed, experiment_with("Model.d_k = 64"), accept_changes=accept_changes) == []
    assert snapshot(claimed) == before


def test_another_experiment_is_refused_with_all_differences(claimed):
    before = snapshot(claimed)
    other = experiment_with("Model.d_k = 32", "Training.patience = 3", 'Data.train = ("a", "b")')
    with pytest.raises(WorkdirError) as raised:
        claim(claimed, other, accept_changes=False)
    assert str(raised.value) == (
        f"{claimed} was made with another config (Model.d_k: 64 -> 32; "
        "Data.train: 'tfds:wmt14_translate/de-en:train' -> ('a', 'b'); Training.patience: None -> 3): "
        "choose another --workdir, or say --accept_changes"
    )
    assert snapshot(claimed) == before


def test_accepted_changes_are_told_and_kept(claimed):
    other = experiment_with("Training.num_steps = 7", "Training.seed = 2")
    changes = claim(claimed, other, accept_changes=True)
    assert changes == ["Training.num_steps: 100000 -> 7", "Training.seed: 1 -> 2"]
    assert load_experiment([claimed / "config.gin"]) == other
    assert claim(claimed, other, accept_changes=False) == []


@pytest.mark.parametrize("accept_changes", [False, True])
def test_a_folder_of_something_else_is_refused(tmp_path, accept_changes):
    (tmp_path / "thesis.tex").write_text("years of work")
    before = snapshot(tmp_path)
    with pytest.raises(WorkdirError, match=r"is not empty and not a run's \(it has no config\.gin\)"):
        claim(tmp_path, experiment_with(), accept_changes=accept_changes)
    assert snapshot(tmp_path) == before


def test_a_file_is_no_workdir(tmp_path):
    path = tmp_path / "file"
    path.write_text("text")
    with pytest.raises(WorkdirError, match="file is not a directory"):
        claim(path, experiment_with(), accept_changes=True)
    assert path.read_text() == "text"


def test_differences_are_of_settings_in_order():
    ours, theirs = experiment_with("Model.d_v = 3", "Model.d_k = 3"), experiment_with()
    assert differences(ours, theirs) == ["Model.d_k: 64 -> 3", "Model.d_v: 64 -> 3"]
    assert differences(theirs, ours) == ["Model.d_k: 3 -> 64", "Model.d_v: 3 -> 64"]
    assert differences(ours, ours) == []


def test_reading_puts_bindings_on_top_and_writes_nothing(claimed, tmp_path):
    before = snapshot(claimed)
    (tmp_path / "beam.gin").write_text("Decoding.beam_size = 7\nDecoding.length_penalty = 0.5\n")
    read = read_experiment(claimed, [str(tmp_path / "beam.gin")], ["Decoding.length_penalty = 0.0"])
    changed = {name: value for name, value in resolved(read).items() if value != resolved(experiment_with())[name]}
    assert changed == {"Decoding.beam_size": 7, "Decoding.length_penalty": 0.0}
    assert snapshot(claimed) == before


def test_a_workdir_without_a_run_is_said_so(tmp_path):
    with pytest.raises(WorkdirError, match=r"absent holds no run \(it has no config\.gin\): train one there first"):
        read_experiment(tmp_path / "absent", [], [])
    assert not (tmp_path / "absent").exists()


def test_the_vocabulary_is_kept_once(claimed):
    vocabulary = learn_vocabulary(TEXT, 29)
    keep_vocabulary(claimed, vocabulary)
    before = snapshot(claimed)
    keep_vocabulary(claimed, learn_vocabulary(TEXT, 29))
    assert read_vocabulary(claimed).fingerprint == vocabulary.fingerprint
    assert snapshot(claimed) == before


def test_a_changed_training_text_is_found(claimed):
    keep_vocabulary(claimed, learn_vocabulary(TEXT, 29))
    before = snapshot(claimed)
    with pytest.raises(WorkdirError, match=r"vocabulary\.model differs from the vocabulary of today's training text"):
        keep_vocabulary(claimed, learn_vocabulary([*TEXT, "a house"], 29))
    assert snapshot(claimed) == before


def test_a_missing_vocabulary_is_named(claimed):
    with pytest.raises(VocabularyError, match=r"vocabulary\.model: No such file"):
        read_vocabulary(claimed)


def test_a_failed_write_leaves_the_old_text(tmp_path, monkeypatch):
    path = tmp_path / "config.gin"
    write_text(path, "old")

    def fail(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", fail)
        with pytest.raises(OSError, match="disk full"):
            write_text(path, "new")
    assert path.read_text() == "old"
    write_text(path, "new ü")
    assert [file.read_text(encoding="utf-8") for file in tmp_path.iterdir()] == ["new ü"]
