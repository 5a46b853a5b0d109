"""`parse`: a tree out for each line in, in order, over exactly its words, whatever the line."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from tiny_commands import require_one_line, run_command

from experiments import parse
from transformer_jax.data.tree_inventory import load_inventory
from transformer_jax.trees.bracket_files import parse_tree, parse_trees
from transformer_jax.trees.drawing.text import text_drawing

LONG = b" ".join([b"the old dog sees a cat"] * 15)
STRANGE = {
    b"": [],
    b" \t \r": [],
    b"the dog\tsees  a cat .\r": ["the", "dog", "sees", "a", "cat", "."],
    b"the dog (a cat)": ["the", "dog", "-LRB-a", "cat-RRB-"],
    "the dog\u2028sees\u00a0a 猫 .".encode(): ["the", "dog\u2028sees\u00a0a", "猫", "."],
    b"the dog \xff sees": ["the", "dog", "\ufffd", "sees"],
    b"/NP S (NN (ART) ) (": ["/NP", "S", "-LRB-NN", "-LRB-ART-RRB-", "-RRB-", "-LRB-"],
    LONG: LONG.decode().split(),
}


@pytest.fixture(scope="module")
def sentences(treebank):
    trees = parse_trees((treebank / "test.trees").read_text(encoding="utf-8").splitlines())
    return [" ".join(tree.words()).encode() for tree in trees]


@pytest.fixture(scope="module")
def lines(sentences):
    return [line for pair in zip(sentences, STRANGE, strict=False) for line in pair]


def parsed(workdir, lines, *flags):
    ended = run_command("parse", f"--workdir={workdir}", *flags, stdin=b"\n".join(lines))
    assert ended.code == 0, ended.err
    return ended.out.decode(), ended.err.splitlines()


@pytest.fixture(scope="module")
def together(trained_parser, lines):
    return parsed(trained_parser, lines)


def test_each_line_has_one_tree_over_exactly_its_words(together, lines):
    out, _ = together
    assert out.count("\n") == len(lines)
    for line, text in zip(lines, out.split("\n"), strict=False):
        words = STRANGE.get(line, line.decode(errors="replace").split(" "))
        assert (parse_tree(text).words() if text else []) == words
    assert len({re.sub(r" [^ ()]+\)", ")", tree) for tree in out.split("\n")[: 2 * len(STRANGE) : 2]}) > 1


def test_what_is_wrong_is_told_by_the_line_s_number(together, lines):
    _, told = together
    number = lines.index(b"the dog \xff sees") + 1
    assert [line for line in told if "UTF-8" in line] == [f"line {number} is not UTF-8 (invalid start byte at byte 8)"]
    assert any(re.match(rf"line {lines.index(LONG) + 1} has \d+ tokens: only the first 63 were", line) for line in told)
    assert all(re.match(r"line \d+ (is|has|its|needed repair: \d)", line) for line in told)


def test_a_tree_does_not_depend_on_its_neighbours(trained_parser, together, lines, monkeypatch):
    monkeypatch.setattr(parse, "_LINES_AT_A_TIME", 4)
    assert parsed(trained_parser, lines[7::-1])[0].split("\n")[:-1] == together[0].split("\n")[7::-1]


def test_pretty_draws_each_tree(trained_parser, together, lines, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    trees = together[0].split("\n")[:6]
    expected = "".join(f"{text_drawing(parse_tree(tree), 60)}\n" if tree else "\n" for tree in trees)
    assert parsed(trained_parser, lines[:6], "--pretty")[0] == expected


def test_a_picture_for_each_tree_beside_the_trees(trained_parser, together, lines, tmp_path):
    out, _ = parsed(trained_parser, lines[:6], f"--svg={tmp_path / 'new' / 'pictures'}")
    trees = together[0].split("\n")[:6]
    assert out.split("\n")[:-1] == trees
    pictures = {path.name: path.read_text() for path in (tmp_path / "new" / "pictures").iterdir()}
    assert sorted(pictures) == [f"{number:06}.svg" for number, tree in enumerate(trees, 1) if tree]
    for name, picture in pictures.items():
        words = [text.text for text in ElementTree.fromstring(picture).iter() if text.get("class") == "word"]
        assert words == parse_tree(trees[int(name[:6]) - 1]).words()


def test_pictures_go_into_a_folder_of_their_own(trained_parser, tmp_path):
    (tmp_path / "mine").write_text("")
    ended = run_command("parse", f"--workdir={trained_parser}", f"--svg={tmp_path}", stdin=b"the dog")
    require_one_line(ended, rf"{tmp_path} is not an empty folder: choose another --svg")


@pytest.mark.slow
def test_constrained_no_tree_needs_repair(trained_parser, sentences):
    bindings = [
        "--gin_param=Decoding.constrained_to_trees = True",
        "--gin_param=Decoding.constrained_to_inventory = True",
    ]
    known = load_inventory(trained_parser / "trees.json").lexicon
    for number in (1, 2):
        out, told = parsed(trained_parser, sentences, *bindings[:number])
        assert told == []
        trees = [parse_tree(line) for line in out.splitlines()]
        assert [tree.words() for tree in trees] == [line.decode().split() for line in sentences]
        strange = [
            leaf for tree in trees for leaf in tree.leaves() if leaf.label not in known.get(leaf.word, [leaf.label])
        ]
        assert (not strange) == (number == 2), "this parser has learned next to nothing"


def test_a_run_of_something_else_is_no_parser(trained_parser, tmp_path):
    (tmp_path / "config.gin").write_text((trained_parser / "config.gin").read_text())
    require_one_line(run_command("parse", f"--workdir={tmp_path}", stdin=b"the dog"), rf"{tmp_path} holds no .*")
