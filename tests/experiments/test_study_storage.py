"""Where a study is kept, and whose it is: another sweep's is refused, and what is there is left as it is."""

import pytest
from toy_sweep import Machine, observer, trials

from experiments.study.storage import StorageError
from experiments.workdir import WorkdirError


@pytest.fixture(autouse=True)
def machine(monkeypatch) -> Machine:
    return Machine().install(monkeypatch)


def test_a_sweep_of_another_space_is_refused_before_anything_runs(machine, tmp_path):
    trials(tmp_path).work(at_most=1, observer=observer())
    for change, said in {
        'sweep/Model.dropout_rate = ("uniform", 0.0, 0.5)': r"sweep/Model.dropout_rate: .*high=0.4.* -> .*high=0.5",
        'sweep/Model.d_ff = ("choice", 64, 128)': r"sweep/Model.d_ff: not said -> .*; Model.d_ff: 2048 -> not said",
        "Model.d_ff = 64": r"\(Model.d_ff: 2048 -> 64\)",
        'Sweep.metric = "chrf"': r"\(Sweep.metric: 'bleu' -> 'chrf'\)",
    }.items():
        with pytest.raises(WorkdirError, match=f"holds another sweep .*{said}"):
            trials(tmp_path, change).work(observer=observer())
    assert len(machine.trained) == 1
    trials(tmp_path, 'Data.cache_directory = "elsewhere"').work(at_most=1, observer=observer())
    assert len(machine.trained) == 2, "a place is no setting of a sweep"


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(WorkdirError, match=r"is not empty and no sweep's"):
        trials(tmp_path).study()
    with pytest.raises(WorkdirError, match="is not a directory"):
        trials(tmp_path / "notes.txt").study()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_two_sweeps_in_one_database_do_not_meet(tmp_path):
    url = f"sqlite:///{tmp_path / 'both.db'}"
    one, other = trials(tmp_path / "a" / "sweep", storage=url), trials(tmp_path / "b" / "sweep", storage=url)
    one.work(at_most=2, observer=observer())
    other.work(at_most=1, observer=observer())
    assert (len(one.study().trials), len(other.study().trials)) == (2, 1)


def test_the_database_of_before_is_asked_for(tmp_path):
    trials(tmp_path / "sweep", storage=f"sqlite:///{tmp_path / 'elsewhere.db'}").work(at_most=1, observer=observer())
    with pytest.raises(StorageError, match=r"has trials of the study sweep-\w+, which is not there: say the --storage"):
        trials(tmp_path / "sweep").study()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("nonsense", "Could not parse"),
        ("sqlite:////nowhere/at/all.db", "unable to open database file"),
        ("nosuch://user:secret@host/db", "Can't load plugin"),
        ("postgresql+psycopg://user:secret@127.0.0.1:1/db", "onnection"),
    ],
)
def test_a_database_that_cannot_be_used_is_one_line_without_its_password(tmp_path, url, said):
    if "psycopg" in url:
        pytest.importorskip("psycopg")
    with pytest.raises(StorageError) as caught:
        trials(tmp_path, storage=url).study()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)
