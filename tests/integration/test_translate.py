"""`translate`: a line out for each line in, in order, whatever the line, and whatever its neighbours."""

import shutil

import pytest
from tiny_commands import run_command, sentence_pairs

from experiments import translate
from experiments.weights import read_weights
from experiments.workdir import read_experiment, read_vocabulary

SENTENCES = [english.encode() for english, _ in sentence_pairs(11, 2)]
LONG = b" ".join([b"the big old cat sees"] * 9)
STRANGE = {
    "empty": b"",
    "blanks": b" \t  \xc2\xa0",
    "next line": "the old cat\x85sees a street".encode(),
    "line separator": "the old cat\u2028sees a street".encode(),
    "carriage return": b"the old cat sees a street\r",
    "not UTF-8": b"the old cat \xff sees a street",
    "replaced": "the old cat \ufffd sees a street".encode(),
    "other script": "猫 は 古い".encode(),
    "nul": b"the old \0 cat",
    "too long": LONG,
    "same": b"the old cat sees a street",
}
LINES = [line for pair in zip(SENTENCES, STRANGE.values(), strict=True) for line in pair]


def translated(workdir, lines, *, end=b"\n"):
    ended = run_command("translate", f"--workdir={workdir}", stdin=b"\n".join(lines) + end)
    assert ended.code == 0
    assert ended.out.endswith(b"\n")
    return ended.out[:-1].split(b"\n"), ended.err.splitlines()


@pytest.fixture(scope="module")
def run(trained, tmp_path_factory):
    """A copy, since averaged weights are kept there."""
    return shutil.copytree(trained, tmp_path_factory.mktemp("translate") / "run")


@pytest.fixture(scope="module")
def together(run):
    return translated(run, LINES)


@pytest.fixture(scope="module")
def alone(run):
    """The other way round, a line at a time, and the last line without its end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translate, "_LINES_AT_A_TIME", 1)
        return translated(run, LINES[::-1], end=b"")


@pytest.fixture(scope="module")
def of(together):
    """The translation of each strange line, by its name."""
    return dict(zip(STRANGE, together[0][1::2], strict=True))


def test_as_many_lines_as_came(together, alone):
    assert len(together[0]) == len(alone[0]) == len(LINES)


def test_a_line_is_translated_alike_whatever_its_neighbours_and_its_place(together, alone):
    assert alone[0][::-1] == together[0]
    assert len(set(together[0][::2])) > len(SENTENCES) // 2, "what is the same for all lines has no order"


@pytest.mark.usefixtures("quick_to_compile")
def test_in_order(together, run):
    """As the sentences of the same text are translated by `evaluate`'s parts, one by one."""
    experiment, vocabulary = read_experiment(run, [], []), read_vocabulary(run)
    params = read_weights(run, experiment).params
    model = translate.Transformer(experiment.model, vocabulary.size)
    translator = translate.Translator(translate.Generator(model, params, experiment.decoding), vocabulary)
    expected = [translator.translate([line.decode()])[0].text.encode() for line in SENTENCES]
    assert together[0][::2] == expected


def test_nothing_is_translated_into_nothing(of):
    assert of["empty"] == of["blanks"] == b""


def test_a_line_ends_at_a_line_feed_and_nowhere_else(of):
    """The number of lines says so; and some of what else might look like an end is a blank to the vocabulary."""
    assert of["line separator"] == of["carriage return"] == of["same"] != b""
    assert of["next line"] != b""


def test_what_cannot_be_read_is_told_by_number_and_the_others_go_on(together, alone, of):
    number = LINES.index(STRANGE["not UTF-8"]) + 1
    for err, at in ((together[1], number), (alone[1], len(LINES) + 1 - number)):
        assert [line for line in err if "UTF-8" in line] == [f"line {at} is not UTF-8 (invalid start byte at byte 12)"]
    assert of["not UTF-8"] == of["replaced"] != b""


def test_what_is_too_long_is_told_by_number_and_the_others_go_on(together, alone, of, run):
    tokens = len(read_vocabulary(run).encode(LONG.decode()))
    number = LINES.index(LONG) + 1
    for err, at in ((together[1], number), (alone[1], len(LINES) + 1 - number)):
        told = [line for line in err if "only the first" in line]
        assert told == [f"line {at} has {tokens} tokens: only the first 36 were translated"]
    assert of["too long"] != b""


def test_a_person_is_told_of_nothing_else_but_translations_without_an_end(together):
    told = [line for line in together[1] if "UTF-8" not in line and "only the first" not in line]
    assert all(" its translation was cut off at " in line for line in told)


def test_no_lines_are_no_lines(run):
    ended = run_command("translate", f"--workdir={run}")
    assert (ended.code, ended.out, ended.err) == (0, b"", "")
