"""Training text is prepared once, resumed wherever it was killed, and never used damaged."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from readings import TREES
from tiny_commands import PROJECT_ROOT, sentence_pairs, snapshot

from transformer_jax.config import Cleaning, Data
from transformer_jax.data.corpus import CorpusError
from transformer_jax.data.preparation import encoding
from transformer_jax.data.preparation.training_data import PreparedDataError, prepare_training_data
from transformer_jax.data.vocabulary import VocabularyError
from transformer_jax.special_ids import EOS_ID

OFF = Cleaning(empty=False, identical=False, max_words=None, max_length_ratio=None, duplicate=False)
ON = Cleaning(empty=True, identical=True, max_words=9, max_length_ratio=3.0, duplicate=True)
GOOD = list(dict.fromkeys(sentence_pairs(60, seed=1)))[:40]
BAD = {
    "empty": [("", "nichts")],
    "identical": [("same", "same")] * 2,
    "max_words": [("a " * 10, "b " * 10)],
    "max_length_ratio": [("one", "zwei drei vier fünf")],
    "duplicate": [GOOD[0], GOOD[37], GOOD[0]],
}
TEXT = [
    pair for k, pair in enumerate(GOOD) for pair in [pair, *[bad for pairs in BAD.values() for bad in pairs if k == 38]]
]
PAIRS_PER_SHARD = 11


@pytest.fixture
def data(tmp_path):
    (tmp_path / "train.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in TEXT), encoding="utf-8")
    return Data(
        source_language="en", target_language="de", train="train.tsv", dev="none", test="none",
        directory=str(tmp_path), vocabulary="bpe", vocab_size=61, vocab_sample=None, merge_across_scripts=False,
        max_train_length=50, cache_directory=str(tmp_path / "cache"),
    )  # fmt: skip


@pytest.fixture
def in_one_process(monkeypatch):
    """Where it is not the processes that matter, they need not be started."""
    monkeypatch.setattr(encoding, "_in_processes", encoding._in_this_one)


def replace(data, **changes):
    return Data(**{**vars(data), **changes})


def prepare(data, cleaning=ON, on_progress=lambda *_: None):
    return prepare_training_data(data, cleaning, TREES, on_progress, pairs_per_shard=PAIRS_PER_SHARD)


def texts(prepared):
    corpus, decode = prepared.corpus, prepared.vocabulary.decode
    return [(decode(corpus.source(i)), decode(corpus.target(i))) for i in range(len(corpus))]


def passes(data, cleaning=ON):
    """What was done, in order, without repetition."""
    said = []
    prepare(data, cleaning, lambda what, *_: said.append(what))
    return list(dict.fromkeys(said))


def test_the_ids_are_those_of_the_pairs_that_are_kept_in_their_order(data):
    prepared = prepare(data)
    assert texts(prepared) == GOOD
    for i, (source, target) in enumerate(GOOD):
        assert prepared.corpus.source(i).tolist() == [*prepared.vocabulary.encode(source), EOS_ID]
        assert prepared.corpus.target(i).tolist() == [*prepared.vocabulary.encode(target), EOS_ID]
    assert len(prepared.corpus.sources.shards) == -(-len(TEXT) // PAIRS_PER_SHARD)


def test_every_pair_read_is_accounted_for(data):
    report = prepare(data).report
    assert report.removed == {rule: len(pairs) for rule, pairs in BAD.items()}
    assert (report.read, report.kept) == (len(TEXT), len(GOOD))


@pytest.mark.usefixtures("in_one_process")
def test_without_rules_nothing_is_left_out(data):
    prepared = prepare(data, OFF)
    assert (len(prepared.corpus), prepared.report.kept, prepared.report.removed) == (len(TEXT), len(TEXT), {})


def test_processes_make_what_one_makes(data, tmp_path, request):
    prepare(data)
    request.getfixturevalue("in_one_process")
    prepare(replace(data, cache_directory=str(tmp_path / "alone")))
    assert snapshot(tmp_path / "cache") == snapshot(tmp_path / "alone")


@pytest.mark.usefixtures("in_one_process")
def test_several_at_once_make_it_once(data):
    said = []
    with ThreadPoolExecutor(3) as pool:
        made = list(pool.map(lambda _: prepare(data, on_progress=lambda what, *_: said.append(what)), range(5)))
    assert said.count("learning the vocabulary") == 1
    assert [texts(prepared) for prepared in made] == [GOOD] * 5


@pytest.mark.usefixtures("in_one_process")
def test_the_second_time_nothing_is_made(data):
    made = ["reading", "looking for duplicates", "learning the vocabulary", "encoding", "checking"]
    assert passes(data) == made
    before = snapshot(Path(data.cache_directory))
    assert passes(data) == ["checking"]
    assert snapshot(Path(data.cache_directory)) == before


@pytest.mark.usefixtures("in_one_process")
@pytest.mark.parametrize(
    "change",
    [{"vocab_size": 59}, {"vocabulary": "unigram", "vocab_size": 47}, {"vocab_sample": 30}, {"source_language": "fr"}],
)
def test_what_it_is_made_of_is_its_name(data, change):
    prepare(data)
    assert "encoding" in passes(replace(data, **change))
    assert "encoding" in passes(data, OFF)
    assert passes(replace(data, max_train_length=7, dev="other")) == ["checking"]  # neither matters to it
    assert len(list(Path(data.cache_directory).glob("training-*"))) == 3


@pytest.mark.usefixtures("in_one_process")
def test_changed_text_is_prepared_anew(data, tmp_path):
    prepare(data)
    with (tmp_path / "train.tsv").open("a", encoding="utf-8") as file:
        file.write("the new cat\tdie neue Katze\n")
    assert texts(prepare(data)) == [*GOOD, ("the new cat", "die neue Katze")]


@pytest.mark.usefixtures("in_one_process")
def test_the_home_directory_is_expanded(data, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    prepare(replace(data, cache_directory="~/kept"))
    assert list((tmp_path / "home" / "kept").glob("training-*"))
    assert not (tmp_path / "~").exists()


@pytest.mark.usefixtures("in_one_process")
@pytest.mark.parametrize("name", ["ids-00002/target_values.npy", "ids-00000/source_offsets.npy", "vocabulary.model"])
@pytest.mark.parametrize("place", [0, 7, -1])
def test_a_flipped_bit_is_found_and_named(data, name, place):
    prepare(data)
    (folder,) = Path(data.cache_directory).glob("training-*")
    content = bytearray((folder / name).read_bytes())
    content[place] ^= 4
    (folder / name).write_bytes(content)
    with pytest.raises(PreparedDataError, match=f"{folder}: {name} is not what was written: delete that folder"):
        prepare(data)


@pytest.mark.usefixtures("in_one_process")
def test_a_missing_shard_is_named(data):
    prepare(data)
    (folder,) = Path(data.cache_directory).glob("training-*")
    (folder / "ids-00001" / "source_values.npy").unlink()
    with pytest.raises(PreparedDataError, match=r"ids-00001/source_values\.npy is missing"):
        prepare(data)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"vocab_size": 5000}, VocabularyError, r"vocab_size = 5000: .* supports at most \d+"),
        ({"train": "empty.tsv"}, CorpusError, "holds no sentence pairs"),
        ({"train": "bad.tsv"}, CorpusError, r"bad\.tsv, line 31: no tab"),
    ],
)
def test_what_cannot_be_prepared_leaves_nothing_half_made(data, tmp_path, change, error, message):
    (tmp_path / "empty.tsv").write_text("")
    (tmp_path / "bad.tsv").write_text("a\tb\n" * 30 + "no second side\n")
    with pytest.raises(error, match=message):
        prepare(replace(data, **change))
    assert [path for path in Path(data.cache_directory).iterdir() if path.is_dir()] == []


def test_rules_that_leave_nothing_say_so(data, tmp_path):
    (tmp_path / "train.tsv").write_text("same\tsame\n" * 3)
    with pytest.raises(CorpusError, match=r"no pair is left of 3: identical 3"):
        prepare(data)


class Killed(BaseException):
    """As good as a kill: nothing of the library catches it."""


@pytest.mark.usefixtures("in_one_process")
def test_stopped_anywhere_it_ends_with_the_same_bytes(data, tmp_path):
    said = []
    prepare(data, on_progress=lambda *line: said.append(line))
    expected = snapshot(tmp_path / "cache")
    for stop_at in range(len(said) - 1):  # the last is the check
        elsewhere = replace(data, cache_directory=str(tmp_path / f"cache{stop_at}"))
        lines = []

        def stop(*line, stop_at=stop_at, lines=lines):
            lines.append(line)
            if len(lines) > stop_at:
                raise Killed

        with pytest.raises(Killed):
            prepare(elsewhere, on_progress=stop)
        prepare(elsewhere)
        assert snapshot(tmp_path / f"cache{stop_at}") == expected


WORKER = """
import json, sys
from transformer_jax.config import Cleaning, Data, Trees
from transformer_jax.data.preparation.training_data import prepare_training_data

if __name__ == "__main__":
    data, cleaning, trees, pairs_per_shard = json.loads(sys.argv[1])
    def show(what, *_):
        print(what, flush=True)
    prepare_training_data(Data(**data), Cleaning(**cleaning), Trees(**trees), show, pairs_per_shard=pairs_per_shard)
"""


def start(script, data):
    arguments = json.dumps([vars(data), vars(ON), vars(TREES), PAIRS_PER_SHARD])
    environment = {**os.environ, "PYTHONPATH": str(PROJECT_ROOT)}
    return subprocess.Popen(
        [sys.executable, str(script), arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment,
    )  # fmt: skip


def test_killed_in_each_pass_it_ends_with_the_same_bytes(data, tmp_path):
    """With SIGKILL, one pass further every time, all in one cache; at last it is let to its end."""
    prepare(data)
    expected = snapshot(tmp_path / "cache")
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    elsewhere = replace(data, cache_directory=str(tmp_path / "killed"))
    for what in ("reading", "looking for duplicates", "learning the vocabulary", "encoding"):
        with start(script, elsewhere) as process:
            assert any(line.strip() == what for line in process.stdout), process.stderr.read()
            process.kill()
            assert process.wait() == -signal.SIGKILL
    assert not list((tmp_path / "killed").glob("training-*"))
    with start(script, elsewhere) as process:
        _, errors = process.communicate()
        assert process.returncode == 0, errors
    assert snapshot(tmp_path / "killed") == expected
