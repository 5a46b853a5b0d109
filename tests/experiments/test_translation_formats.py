"""What is written for a line, by hand."""

import json
import math

import pytest

from experiments.translation.formats import Translated, as_json, in_columns
from transformer_jax.decoding.generate import Hypothesis
from transformer_jax.decoding.translator import Translation

BEST, SECOND = Hypothesis([9, 7], -0.25, -0.5, True), Hypothesis([7], -1 / 3, -2 / 3, False)
TRANSLATION = Translation([5, 6, 2], [BEST, SECOND], ["Katze\u2028alt", "ein\tTab"], ["has a problem"])
LINES = Translated(7, "old \x85 cat\t", TRANSLATION, [None, None])
LINKED = LINES._replace(links=[[(1, 0), (0, 1)], []])
NOTHING_FOUND = Translated(8, "?", Translation([5, 2], [Hypothesis([], -math.inf, -math.inf, False)], [""], []), [None])


class Vocabulary:
    """Its pieces are named by their ids."""

    def tokens(self, ids):
        return [f"_{id}" for id in ids]


@pytest.mark.parametrize(
    ("lines", "flags", "expected"),
    [
        (LINES, (False, False, False), ["Katze\u2028alt", "ein\tTab"]),
        (LINES, (True, True, False), ["7\t-0.250000\tKatze\u2028alt", "7\t-0.333333\tein\tTab"]),
        (LINES, (False, True, True), ["-0.250000\t-0.500000\tKatze\u2028alt", "-0.333333\t-0.666667\tein\tTab"]),
        (LINKED, (False, False, False), ["1-0 0-1\tKatze\u2028alt", "\tein\tTab"]),
        (LINKED, (True, True, True), ["7\t-0.250000\t-0.500000\t1-0 0-1\tKatze\u2028alt",
                                      "7\t-0.333333\t-0.666667\t\tein\tTab"]),
        (NOTHING_FOUND, (True, True, True), ["8\t-inf\t-inf\t"]),
    ],
)  # fmt: skip
def test_columns(lines, flags, expected):
    numbers, scores, log_probs = flags
    assert list(in_columns(numbers=numbers, scores=scores, log_probs=log_probs)(lines)) == expected


def test_json():
    (row,) = as_json(Vocabulary())(LINKED)
    assert "\n" not in row
    assert json.loads(row) == {
        "line": 7,
        "source": "old \x85 cat\t",
        "source_tokens": ["_5", "_6"],
        "translations": [
            {
                "text": "Katze\u2028alt", "score": -0.25, "log_prob": -0.5, "tokens": ["_9", "_7"], "finished": True,
                "alignment": [[1, 0], [0, 1]],
            },
            {
                "text": "ein\tTab", "score": -0.333333, "log_prob": -0.666667, "tokens": ["_7"], "finished": False,
                "alignment": [],
            },
        ],
        "problems": ["has a problem"],
    }  # fmt: skip


def test_json_has_no_alignment_that_was_not_asked_for():
    (row,) = as_json(Vocabulary())(LINES)
    assert all("alignment" not in found for found in json.loads(row)["translations"])


def test_json_has_no_infinity():
    """As RFC 8259 says."""
    (row,) = as_json(Vocabulary())(NOTHING_FOUND)
    (found,) = json.loads(row, parse_constant=pytest.fail)["translations"]
    assert (found["score"], found["log_prob"], found["text"]) == (None, None, "")
