"""What `translate` can be asked for: several translations, scores, alignments, beginnings, JSON, narrow arithmetic."""

import json

import pytest
from tiny_commands import require_one_line, run_command, sentence_pairs

from experiments.workdir import read_vocabulary

PREFIXES = ["die alte", "", "die kleine Katze sieht", ""]
LINES = [*(english for english, _ in sentence_pairs(3, 5)), ""]
STDIN = "".join(f"{line}\n" for line in LINES).encode()
SETTINGS = {"Decoding.average_checkpoints": 1, "Decoding.tokens_per_batch": 256}  # one batch of four rows

pytestmark = pytest.mark.usefixtures("compiled_once")


def rows(run, *flags):
    bindings = [f"--gin_param={name} = {value}" for name, value in SETTINGS.items()]
    ended = run_command("translate", f"--workdir={run}", *bindings, *flags, stdin=STDIN)
    assert ended.code == 0, ended.err
    return ended.out.decode().removesuffix("\n").split("\n")


@pytest.fixture(scope="module")
def objects(trained):
    return [json.loads(row) for row in rows(trained, "--json", "--nbest=2", "--alignments")]


@pytest.fixture(scope="module")
def columns(trained):
    return [row.split("\t") for row in rows(trained, "--scores", "--nbest=2", "--alignments")]


@pytest.fixture(scope="module")
def scored(trained):
    return [row.split("\t") for row in rows(trained, "--scores")]


def test_an_object_for_each_line(objects):
    assert [row["line"] for row in objects] == [1, 2, 3, 4]
    assert [row["source"] for row in objects] == LINES
    assert [len(row["translations"]) for row in objects] == [2, 2, 2, 1]
    for row in objects[:3]:
        best, second = row["translations"]
        assert best["score"] >= second["score"]
        assert best["text"] != second["text"]


def test_tokens_are_those_of_the_texts(objects, trained):
    vocabulary = read_vocabulary(trained)
    for row in objects:
        assert row["source_tokens"] == vocabulary.tokens(vocabulary.encode(row["source"]))
        for found in row["translations"]:
            assert "".join(found["tokens"]).replace("▁", " ").removeprefix(" ") == found["text"]


def test_the_score_is_the_log_probability_by_length(objects):
    """Of a beam that has ended, with GNMT's penalty and alpha 0.6."""
    for row in objects[:3]:
        for found in row["translations"]:
            length = len(found["tokens"]) + found["finished"]
            assert found["score"] == pytest.approx(found["log_prob"] / ((5 + length) / 6) ** 0.6, abs=1e-5)


def test_every_token_is_linked_to_one_of_the_source(objects):
    for row in objects:
        for found in row["translations"]:
            assert [target for _, target in found["alignment"]] == list(range(len(found["tokens"])))
            assert {source for source, _ in found["alignment"]} <= set(range(len(row["source_tokens"])))
    assert len({str(row["translations"][0]["alignment"]) for row in objects}) > 1


def test_nothing_has_one_translation(objects):
    nothing = {"text": "", "score": 0.0, "log_prob": 0.0, "tokens": [], "finished": True, "alignment": []}
    assert objects[3]["translations"] == [nothing]


def test_columns_say_the_same(objects, columns):
    expected = [
        [
            str(row["line"]),
            f"{found['score']:.6f}",
            f"{found['log_prob']:.6f}",
            " ".join(f"{source}-{target}" for source, target in found["alignment"]),
            found["text"],
        ]
        for row in objects
        for found in row["translations"]
    ]
    assert columns == expected


def test_the_best_alone_is_the_first_of_many(scored, columns):
    best = {number: [score, log_prob, text] for number, score, log_prob, _, text in reversed(columns)}
    assert scored == [best[number] for number in "1234"]


def test_several_have_number_and_score(trained, columns):
    found = [row.split("\t") for row in rows(trained, "--nbest=2")]
    assert found == [[number, score, text] for number, score, _, _, text in columns]


def test_translations_begin_as_they_must(trained, tmp_path, scored):
    (tmp_path / "prefixes").write_text("".join(f"{prefix}\n" for prefix in [*PREFIXES[:3], "die"]), encoding="utf-8")
    found = rows(trained, f"--prefixes={tmp_path / 'prefixes'}")
    free = [text for _, _, text in scored]
    assert all(text.startswith(prefix) for text, prefix in zip(found[:3], PREFIXES, strict=False))
    assert not free[2].startswith(PREFIXES[2])
    assert found[1] == free[1] != ""
    assert found[3] == "", "there is nothing to translate"


def test_in_bfloat16(trained, scored):
    """Other scores, but nearly the same."""
    narrow = [row.split("\t") for row in rows(trained, "--scores", '--gin_param=Model.compute_dtype = "bfloat16"')]
    assert [text for _, _, text in narrow] == [text for _, _, text in scored]
    ours, theirs = ([float(log_prob) for _, log_prob, _ in found] for found in (narrow, scored))
    assert ours == pytest.approx(theirs, abs=0.2)
    assert ours != theirs


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--nbest=3"], r"--nbest=3: must be from 1 to Decoding\.beam_size = 2"),
        (["--nbest=0"], r"--nbest=0: must be from 1 to Decoding\.beam_size = 2"),
        (["--prefixes={text}/absent"], r"\S+/text/absent: No such file or directory"),
        (["--prefixes={text}/dev.en"], r"\S+/text/dev\.en has 13 lines, standard input has more: must be as many"),
    ],
)
def test_bad_input(trained, flags, told):
    flags = [flag.replace("{text}", str(trained.parent / "text")) for flag in flags]
    require_one_line(run_command("translate", f"--workdir={trained}", *flags, stdin=b"\n" * 14), told)
