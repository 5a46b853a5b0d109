"""`silver`: a treebank of predicted trees, with its provenance, whole or not at all, resumed where it was killed."""

import gzip
import hashlib
import json
import shutil

import pytest
from tiny_commands import require_one_line, run_command, snapshot

from experiments.parsing import silver_file, silver_parts
from transformer_jax.trees.bracket_files import parse_tree, parse_trees

STRANGE = ["", "the dog " * 40, "the (dog"]


@pytest.fixture(scope="module")
def sentences(treebank):
    trees = parse_trees((treebank / "test.trees").read_text(encoding="utf-8").splitlines())
    return [*(" ".join(tree.words()) for tree in trees), *STRANGE]


@pytest.fixture
def paths(sentences, tmp_path):
    (tmp_path / "plain.txt").write_text("".join(f"{line}\n" for line in sentences), encoding="utf-8")
    return tmp_path / "plain.txt", tmp_path / "silver.trees"


def silver(workdir, paths, *flags):
    sentences, output = paths
    return run_command("silver", f"--workdir={workdir}", f"--sentences={sentences}", f"--output={output}", *flags)


@pytest.fixture(scope="module")
def made(trained_parser, sentences, tmp_path_factory):
    """The file and its provenance."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "plain.txt").write_text("".join(f"{line}\n" for line in sentences), encoding="utf-8")
    ended = silver(trained_parser, (folder / "plain.txt", folder / "silver.trees"))
    assert ended.code == 0, ended.err
    assert sorted(path.name for path in folder.iterdir()) == ["plain.txt", "silver.trees", "silver.trees.json"]
    return (folder / "silver.trees").read_text(encoding="utf-8"), json.loads(
        (folder / "silver.trees.json").read_text(encoding="utf-8")
    )


def test_trees_are_those_that_parse_says_without_repair(made, trained_parser, sentences):
    ended = run_command("parse", f"--workdir={trained_parser}", stdin="\n".join(sentences).encode())
    wrong = {int(line.split()[1]) for line in ended.err.splitlines()}
    lines = ended.out.decode().split("\n")[: len(sentences)]
    assert made[0].splitlines() == [tree for number, tree in enumerate(lines, start=1) if tree and number not in wrong]


def test_every_line_is_accounted_for(made, sentences):
    trees, told = made
    assert told["trees"] == trees.count("\n") > 0
    assert told["lines"] == len(sentences) == told["trees"] + sum(told["left_out"].values())
    assert told["left_out"]["without words"] == 1
    assert sum(told["left_out"].values()) >= 2


def test_the_provenance_says_who_parsed_what(made, trained_parser, sentences):
    trees, told = made
    assert told["trees_sha256"] == hashlib.sha256(trees.encode()).hexdigest()
    text = "".join(f"{line}\n" for line in sentences)
    assert told["sentences_sha256"] == hashlib.sha256(text.encode()).hexdigest()
    parser = told["parser"]
    assert (parser["workdir"], parser["checkpoint_steps"]) == (str(trained_parser), [90])
    assert parser["settings"]["Decoding.beam_size"] == 2
    assert len(parser["weights_sha256"]) == len(parser["vocabulary_sha256"]) == 64
    assert {"command", "revision", "machine", "date"} <= told.keys()


class KilledError(Exception):
    """In place of a signal."""


def test_killed_it_goes_on_and_ends_with_the_same_trees(made, trained_parser, paths, monkeypatch):
    monkeypatch.setattr(silver_file, "_LINES_A_PART", 4)
    write, parsed = silver_parts.write_part, []

    def killed(path, lines, *args, **more):
        if len(parsed) == 2:
            raise KilledError
        parsed.append(len(lines))
        write(path, lines, *args, **more)

    monkeypatch.setattr(silver_file, "write_part", killed)
    with pytest.raises(KilledError):
        silver(trained_parser, paths)
    assert not paths[1].exists()
    again = []
    monkeypatch.setattr(silver_file, "write_part", lambda *args, **more: (again.append(1), write(*args, **more)))
    ended = silver(trained_parser, paths)
    assert ended.code == 0, ended.err
    assert len(again) == -(-18 // 4) - 2, "what was parsed is not parsed again"
    assert paths[1].read_text(encoding="utf-8") == made[0]
    told = json.loads(paths[1].with_name("silver.trees.json").read_text(encoding="utf-8"))
    same = ("trees", "lines", "left_out", "repairs_of_trees_left_out", "trees_sha256", "sentences_sha256", "parser")
    assert {name: told[name] for name in same} == {name: made[1][name] for name in same}


def test_parts_of_another_parser_are_not_gone_on_with(trained_parser, paths, monkeypatch):
    def killed(*_, **__):
        raise KilledError

    monkeypatch.setattr(silver_file, "write_part", killed)
    with pytest.raises(KilledError):
        silver(trained_parser, paths)
    ended = silver(trained_parser, paths, "--gin_param=Decoding.beam_size = 1")
    require_one_line(ended, rf"{paths[1]}.parts holds parts of other sentences, or by another parser: delete it")
    paths[0].write_text("the dog\n")
    require_one_line(silver(trained_parser, paths), rf"{paths[1]}.parts holds parts of other sentences.*")


@pytest.mark.parametrize("there", ["silver.trees", "silver.trees.json"])
def test_nothing_is_overwritten(trained_parser, paths, there):
    folder = paths[1].parent
    (folder / there).write_text("mine")
    before = snapshot(folder)
    require_one_line(silver(trained_parser, paths), rf"{folder / there} is there already: choose another --output")
    assert snapshot(folder) == before


def test_bad_input_is_one_line(trained_parser, paths):
    sentences, output = paths
    require_one_line(silver(trained_parser, (sentences.with_name("none"), output)), r".*none: No such file.*")
    require_one_line(silver(trained_parser, (sentences, output.with_name("a.gz"))), r".*must not end in \.gz")
    require_one_line(silver(trained_parser, (sentences, output.with_name("no") / "a")), r".*no is no folder.*")


def test_compressed_sentences_and_training_on_the_union(made, trained_parser, treebank, sentences, tmp_path):
    """The silver file is a treebank like any other."""
    shutil.copytree(treebank, tmp_path / "trees", ignore=shutil.ignore_patterns("cache"))
    with gzip.open(tmp_path / "plain.txt.gz", "wt", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in sentences)
    ended = silver(trained_parser, (tmp_path / "plain.txt.gz", tmp_path / "trees" / "silver.trees"))
    assert ended.code == 0, ended.err
    assert (tmp_path / "trees" / "silver.trees").read_text(encoding="utf-8") == made[0]
    assert all(parse_tree(line).words() for line in made[0].splitlines())
    union = 'Data.train = (("trees:train.trees",), ("trees:silver.trees",))'
    places = f'Data.directory = "{tmp_path / "trees"}"', f'Data.cache_directory = "{tmp_path / "cache"}"'
    params = [f"--gin_param={binding}" for binding in (union, *places)]
    ended = run_command("prepare", f"--gin_file={treebank / 'tiny.gin'}", *params)
    assert ended.code == 0, ended.err
    assert f"{400 + made[1]['trees']} pairs read" in ended.out.decode()
