"""`attention_maps` on a trained run: what it writes, where, and what it refuses; and the gallery made of it."""

import json
import re
import shlex
import shutil

import numpy as np
import pytest
from integration.attended_run import model_weights
from tiny_commands import PROJECT_ROOT, require_one_line, run_command, sentence_pairs, snapshot

from experiments import attention_maps
from experiments.attention import gallery
from experiments.attention.run import read_run
from experiments.attention.seen import see
from experiments.workdir import read_experiment

SENTENCE, TARGET = sentence_pairs(1, 5)[0]
PAIR = [f"--sentence={SENTENCE}", f"--target={TARGET}"]
FILES = {"attention.html", "lines.png", "lines.svg", "heads.png", "heads.svg"}


@pytest.fixture(scope="module")
def run(trained, tmp_path_factory):
    """A copy, since pictures are written there."""
    return shutil.copytree(trained, tmp_path_factory.mktemp("attention") / "run")


@pytest.fixture(scope="module")
def of_the_model(run, trained_config):
    """The weights of the test set's pairs, and of `PAIR`."""
    pairs = [tuple(line.split("\t")) for line in (trained_config.parent / "test.tsv").read_text().splitlines()]
    return model_weights(read_run(run, read_experiment(run, [], [])), [*pairs, (SENTENCE, TARGET)])


def attended(run, *flags):
    return run_command("attention_maps", f"--workdir={run}", *flags)


def data_of(folder):
    html = (folder / "attention.html").read_text()
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)[1])


@pytest.mark.slow
def test_its_own_translation_is_read(run):
    translated = run_command("translate", f"--workdir={run}", stdin=SENTENCE.encode()).out.decode().removesuffix("\n")
    ended = attended(run, f"--sentence={SENTENCE}", "--stack=source", "--heads=2")
    assert (ended.code, ended.err) == (0, "")
    found = data_of(max((run / "attention").iterdir()))
    assert (found["sentence"], found["target"], found["given"]) == (SENTENCE, translated, False)
    assert found["view"] == {"stack": "source", "layer": 0, "heads": [1], "rows": None}


def test_each_call_has_a_folder_of_its_own(run):
    before = set((run / "attention").glob("*"))
    for _ in range(2):
        assert attended(run, *PAIR).code == 0
    added = set((run / "attention").iterdir()) - before
    assert [{path.name for path in folder.iterdir()} for folder in added] == [FILES, FILES]


def test_a_given_target_is_read(run, of_the_model, tmp_path):
    ended = attended(run, *PAIR, f"--into={tmp_path / 'new'}")
    assert (ended.code, ended.err) == (0, "")
    found = data_of(tmp_path / "new")
    assert (found["target"], found["given"]) == (TARGET, True)
    for name, stack in found["stacks"].items():
        np.testing.assert_allclose(stack["weights"], of_the_model[-1][name], atol=6e-4)
    read, written = (found["stacks"][name]["rows"] for name in ("decoder", "source"))
    assert read == [["<s>", "special"], *written[:-1]]
    assert written[-1] == ["</s>", "special"]
    assert "".join(text for text, _ in written[:-1]).replace("␣", "") == TARGET.replace(" ", "")


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        (["--sentence= "], "--sentence is empty"),
        (["--sentence=" + "lamp " * 40], r"--sentence has \d+ tokens: must be at most Model\.max_length = 37"),
        (["--sentence=a", "--target=" + "x " * 40], r"--target has \d+ tokens: must be at most Model\.max_length = 37"),
        (["--sentence=caf\udce9"], r"--sentence is not UTF-8 \(surrogates not allowed\)"),
        (["--sentence=a", "--target=b", "--layer=2"], "--layer=2: must be from 1 to 1"),
        (["--sentence=a", "--target=b", "--heads=1,0"], "--heads=0: must be from 1 to 2"),
        (["--sentence=a", "--target=b", "--word=cat"], r"--word=cat: must be one of a </s>"),
        ([], r"one of --sentence and --statistics is required \(.*\)"),
        (["--sentence=a", "--statistics"], r"one of --sentence and --statistics is required \(.*\)"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(run, flags, line):
    before = snapshot(run)
    require_one_line(attended(run, *flags), line)
    assert snapshot(run) == before


def test_what_is_there_is_not_overwritten(run, tmp_path):
    (tmp_path / "mine").write_text("")
    require_one_line(
        attended(run, "--sentence=a", "--target=b", f"--into={tmp_path}"), r"\S+ is not an empty folder: choose .*"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def entropy(weights):
    return -(weights * np.log(np.maximum(weights, 1e-30))).sum(-1)


def test_statistics_are_those_of_each_pair_alone(run, of_the_model):
    """A split's are kept beside another's."""
    for split in ("dev", "test"):
        assert attended(run, "--statistics", f"--split={split}").code == 0
    entries = json.loads((run / "attention.json").read_text())
    assert list(entries) == ["dev", "test"]
    text = (run / "attention.md").read_text()
    assert re.findall("^## (.*)$", text, re.MULTILINE) == ["dev", "test"]
    found = of_the_model[:-1]
    assert entries["test"]["sentences"] == len(found)
    for name in ("encoder", "decoder", "source"):
        rows = [np.moveaxis(each[name], 2, 0) for each in found]
        expected = np.concatenate([entropy(each) for each in rows]).mean(0)
        np.testing.assert_allclose(entries["test"][name]["entropy"], expected, rtol=1e-3)
        assert f"| 1.2 | {expected[0, 1]:.3f} |" in re.sub(" +", " ", text)


def test_a_file_of_something_else_is_left_alone(run, tmp_path):
    other = shutil.copytree(run, tmp_path / "run")
    for text, wrong in (("{", "is not JSON"), ("[]", "holds no statistics"), ('{"test": 1}', "holds no statistics")):
        (other / "attention.json").write_text(text)
        require_one_line(attended(other, "--statistics"), rf"\S+/attention\.json {wrong}: move it away")
        assert (other / "attention.json").read_text() == text


def test_the_gallery_shows_every_picture_with_its_command(run, tmp_path, monkeypatch):
    monkeypatch.setattr(gallery, "see", lambda run, sentence, _: see(run, sentence, TARGET))
    monkeypatch.setattr(gallery, "_SENTENCES", {"multi30k": SENTENCE, "quickstart": SENTENCE})
    one = gallery.Picture("one", "lines", "multi30k", ("--heads=2", f"--word={SENTENCE.split()[0]}"), "One")
    monkeypatch.setattr(gallery, "_PICTURES", (one, gallery.Picture("two", "heads", "quickstart", (), "Two")))
    before = snapshot(run)
    ended = run_command("gallery", f"--multi30k={run}", f"--quickstart={run}", f"--into={tmp_path}")
    assert (ended.code, ended.err) == (0, "")
    assert snapshot(run) == before
    text = (tmp_path / "gallery.md").read_text()
    assert re.findall(r"\]\((.*?)\)", text) == ["gallery/one.png", "gallery/two.png"]
    args = shlex.split(re.findall(r"```\n(.*?)\n```", text)[0])[3:]
    attended(run, *args[1:], f"--target={TARGET}", f"--into={tmp_path / 'again'}")
    assert (tmp_path / "again" / "lines.png").read_bytes() == (tmp_path / "gallery" / "one.png").read_bytes()


def test_the_gallery_in_docs_is_whole():
    text = (PROJECT_ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    pictures = [PROJECT_ROOT / "docs" / path for path in re.findall(r"\]\((.*?)\)", text)]
    assert len(pictures) == len(gallery._PICTURES)
    assert all(path.stat().st_size < 150_000 for path in pictures)
    assert sorted(pictures) == sorted((PROJECT_ROOT / "docs" / "gallery").iterdir())
    for command in re.findall(r"```\n(.*?)\n```", text):
        python, module, name, *flags = shlex.split(command)
        assert (python, module, name) == ("python", "-m", "experiments.attention_maps")
        attention_maps.parser().parse_args(flags)
