"""The bracketing score as text, against what the real program prints."""

from functools import cache
from pathlib import Path

import pytest

from transformer_jax.metrics.bracketing.layout import evalb_text
from transformer_jax.metrics.bracketing.parameters import BracketingParameters, read_parameters
from transformer_jax.metrics.bracketing.score import (
    Counts,
    Summary,
    bracketing_score,
)
from transformer_jax.trees.bracket_files import parse_trees
from transformer_jax.trees.tree import Tree

PARAMETERS = BracketingParameters(
    cutoff_length=5,
    deleted=frozenset({"TOP", "-NONE-", ",", "."}),
    deleted_for_length=frozenset({"-NONE-"}),
    equal_labels=frozenset({("ADVP", "PRT")}),
    equal_words=frozenset({("colour", "color")}),
)
LEAVES = (
    "(TOP (S (NP-SBJ (PRP I)) (VP (VBD saw) (NP=1 (NP (DT the) (NN colour)) (PP (IN of) (NP (NNS leaves))))) (. .)))"
)
RAIN = "(TOP (S (NP (NN rain)) (VP (VBZ falls) (ADVP (RB down)))))"
FALLS = "(TOP (S (NP (NN rain)) (VP (VBZ falls))))"
# Gold, test: the same; a bracket less; equal labels; a crossing one; another word; a word less; no tree; punctuation on
# one side; no bracket.
PAIRS = [
    (LEAVES, LEAVES),
    (LEAVES, "(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (DT the) (NN color)) (PP (IN of) (NP (NNS leaves)))) (. .)))"),
    (RAIN, "(TOP (S (NP (NN rain)) (VP (VBZ falls) (PRT (RP down)))))"),
    (RAIN, "(TOP (S (NP (NN rain) (VBZ falls)) (NP (RB down))))"),
    (FALLS, "(TOP (S (NP (NN snow)) (VP (VBZ falls))))"),
    (FALLS, "(TOP (S (NP (NN rain))))"),
    (FALLS, ""),
    ("(TOP (S (NP (-NONE- *)) (VP (VB stop) (, ,) (VB look))))", "(TOP (S (VP (VP (VB stop)) (VP (VB look)))))"),
    ("(FRAG (NN rain))", "(NN rain)"),
]
# What EVALB prints for PAIRS under PARAMETERS.
EXPECTED = """\
  Sent.                        Matched  Bracket   Cross        Correct Tag
 ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy
============================================================================
   1    7    0  100.00 100.00     7      7    7      0      6     6   100.00
   2    7    0   85.71 100.00     6      7    6      0      6     6   100.00
   3    3    0  100.00 100.00     4      4    4      0      3     2    66.67
   4    3    0   25.00  33.33     1      4    3      1      3     3   100.00
   5    2    1    0.00   0.00     0      0    0      0      0     0     0.00
   6    2    1    0.00   0.00     0      0    0      0      0     0     0.00
   7    2    2    0.00   0.00     0      0    0      0      0     0     0.00
   8    3    0  100.00  50.00     2      2    4      0      2     2   100.00
   9    1    0    0.00   0.00     0      1    0      0      1     1   100.00
============================================================================
                 80.00  83.33     20    25    24      1     21    20    95.24
=== Summary ===

-- All --
Number of sentence        =      9
Number of Error sentence  =      2
Number of Skip  sentence  =      1
Number of Valid sentence  =      6
Bracketing Recall         =  80.00
Bracketing Precision      =  83.33
Bracketing FMeasure       =  81.63
Complete match            =  33.33
Average crossing          =   0.17
No crossing               =  83.33
2 or less crossing        = 100.00
Tagging accuracy          =  95.24

-- len<=5 --
Number of sentence        =      7
Number of Error sentence  =      2
Number of Skip  sentence  =      1
Number of Valid sentence  =      4
Bracketing Recall         =  63.64
Bracketing Precision      =  63.64
Bracketing FMeasure       =  63.64
Complete match            =  25.00
Average crossing          =   0.25
No crossing               =  75.00
2 or less crossing        = 100.00
Tagging accuracy          =  88.89
"""
NOTHING_VALID = """\
  Sent.                        Matched  Bracket   Cross        Correct Tag
 ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy
============================================================================
   1    2    1    0.00   0.00     0      0    0      0      0     0     0.00
   2    2    2    0.00   0.00     0      0    0      0      0     0     0.00
============================================================================
      0     0     0.00
=== Summary ===

-- All --
Number of sentence        =      2
Number of Error sentence  =      1
Number of Skip  sentence  =      1
Number of Valid sentence  =      0
Bracketing Recall         =   0.00
Bracketing Precision      =   0.00
Bracketing FMeasure       =   -nan
Complete match            =   0.00
Average crossing          =   0.00
No crossing               =   0.00
2 or less crossing        =   0.00
Tagging accuracy          =   0.00
"""
REAL_CASES = [
    ("sample/sample.gld", "sample/sample.tst", "sample/sample.prm", "sample/sample.rebuilt.sample.txt"),
    ("bug/bug.gld", "bug/bug.tst", "COLLINS.prm", "bug/bug.rebuilt.COLLINS.txt"),
    ("bug/bug.gld", "bug/bug.tst", "new.prm", "bug/bug.rebuilt.new.txt"),
    *(
        ("generated/gold.trees", "generated/test.trees", f"{name}.prm", f"generated/expected.{name}.txt")
        for name in ("COLLINS", "new", "nk")
    ),
]


def trees(text: str) -> tuple[Tree, ...]:
    return tuple(parse_trees([text]))


@cache
def read_side(path: Path) -> list[tuple[Tree, ...]]:
    return [trees(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]


@pytest.mark.parametrize(("gold", "test", "parameters", "expected"), REAL_CASES)
def test_equals_the_real_program(shared, gold, test, parameters, expected):
    folder = shared / "data/evalb"
    sides = read_side(folder / gold), read_side(folder / test)
    assert evalb_text(bracketing_score(*sides, read_parameters(folder / parameters))) == (folder / expected).read_text()


def test_writes_what_evalb_writes():
    gold, test = ([trees(text) for text in side] for side in zip(*PAIRS, strict=True))
    result = bracketing_score(gold, test, PARAMETERS)
    assert evalb_text(result) == EXPECTED
    assert result.all == Summary(
        9, 2, 1, Counts(20, 25, 24, 1, 21, 20), complete=2, no_crossing=5, two_or_less_crossing=6
    )
    assert result.short.sentences == 7


def test_nothing_valid_is_written_as_evalb_writes_it():
    gold, test = ([trees(text) for text in side] for side in zip(PAIRS[4], PAIRS[6], strict=True))
    result = bracketing_score(gold, test, PARAMETERS)
    assert evalb_text(result).startswith(NOTHING_VALID)
    assert result.all.counts.f1 == 0.0
