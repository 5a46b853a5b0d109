"""The pictures show the weights, where they belong, and are the same files each time."""

import json

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

from experiments.attention.drawing import save
from experiments.attention.files import PICTURES
from experiments.attention.page import script_json
from experiments.attention.pieces import Piece
from experiments.attention.seen import Seen, Stack
from experiments.attention.view import View, head_colours

ROWS = [Piece("$a_b$", "start"), Piece("😀", "part"), Piece("</s>", "special")]
COLUMNS = [Piece("שלום", "start"), Piece("猫", "start"), Piece("c", "part"), Piece("</s>", "special")]


@pytest.fixture(scope="module")
def stack():
    """Two layers, three heads; some weights are too small to be drawn."""
    weights = np.random.default_rng(1).dirichlet([0.3] * 4, (2, 3, 3)).astype(np.float32)
    assert 0 < (weights[1] < 0.01).sum() < weights[1].size / 2
    return Stack(ROWS, COLUMNS, weights)


@pytest.fixture(scope="module")
def seen(stack):
    return Seen("run", "", "", False, {"source": stack})


@pytest.mark.parametrize("rows", [None, [1, 2]])
def test_a_line_for_each_weight_of_the_chosen(seen, stack, rows):
    drawn = PICTURES["lines"](seen, View("source", 1, [0, 2], rows))
    collections = [each for each in drawn.axes[0].collections if isinstance(each, LineCollection)]
    for head, lines in zip([0, 2], collections, strict=True):
        weights = stack.weights[1, head]
        expected = [(i, j) for i in rows or range(3) for j in range(4) if weights[i, j] >= 0.01]
        assert [(round(start[0]), round(end[0])) for start, end in lines.get_segments()] == expected
        values = [weights[i, j] for i, j in expected]
        assert {to_hex(colour) for colour in lines.get_colors()} == {head_colours(3)[head]}
        np.testing.assert_allclose([colour[3] for colour in lines.get_colors()], values, atol=1e-6)
        assert (np.argsort(lines.get_linewidths()) == np.argsort(values)).all()
    assert [text.get_text() for text in drawn.axes[0].texts] == [piece.label for piece in ROWS + COLUMNS]


def test_one_words_weights_are_told_below_its_lines(seen, stack):
    """Of a word of two tokens, the larger of the two."""
    drawn = PICTURES["lines"](seen, View("source", 0, [2, 1], [0, 1]))
    boxes = list(drawn.axes[0].patches)
    expected = np.concatenate([stack.weights[0, head, :2].max(0) for head in (2, 1)])
    np.testing.assert_allclose([box.get_facecolor()[3] for box in boxes], expected, atol=1e-6)
    assert [round(box.get_center()[0]) for box in boxes] == [0, 1, 2, 3] * 2


def test_the_sheet_has_all_heads_of_the_layer(seen, stack):
    drawn = PICTURES["heads"](seen, View("source", 1, [0], [0]))
    tables = [axes for axes in drawn.axes if axes.images]
    for head, axes in enumerate(tables):
        assert axes.get_title() == f"head {head + 1}"
        np.testing.assert_array_equal(axes.images[0].get_array(), stack.weights[1, head])
    assert len(tables) == 3
    assert [text.get_text() for text in tables[0].get_yticklabels()] == [piece.label for piece in ROWS]
    assert [text.get_text() for text in tables[2].get_xticklabels()] == [piece.label for piece in COLUMNS]


def test_letters_that_the_font_lacks_stop_nothing_and_equal_pictures_are_equal_files(seen, tmp_path):
    """The cat is a box in DejaVu Sans; a warning would be an error here."""
    for name, draw in PICTURES.items():
        first, second = (save(draw(seen, View("source", 0, [0, 1], None)), tmp_path / f"{name}{i}") for i in (1, 2))
        assert [path.suffix for path in first] == [".png", ".svg"]
        assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


@pytest.mark.parametrize(
    "text", ["</script><script>alert(1)", "<!-- <script>", "a\u2028b\u2029c", "\"'\\", "😀 שלום", "&lt;"]
)
def test_text_in_a_script_element_stays_text(text):
    written = script_json({"text": text})
    assert json.loads(written) == {"text": text}
    assert written.isascii()
    assert not set(written) & set("<>&")
