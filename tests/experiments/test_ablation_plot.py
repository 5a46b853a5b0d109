"""The picture of Table 3 shows the numbers, where they belong."""

import math
import struct
from dataclasses import replace

import pytest
from matplotlib.axes import Axes
from row_summaries import difference, finished, not_run, random_row, ratio, table, whole_table

from experiments import paper
from experiments.ablation.plot import BASE, OURS, PAPERS, Mark, figure, our_marks, paper_marks, plot, title
from transformer_jax.metrics.significance import Ratio

GROUPS = ["A", "B", "C", "D", "E", "big"]
ROWS = [[name for name, row in paper.TABLE_3.items() if row.group == group] for group in GROUPS]


def drawn(summary) -> list[list[Axes]]:
    """The panels: BLEU's, perplexity's."""
    axes = figure(summary).axes
    assert len(axes) == 2 * len(GROUPS)
    return [axes[: len(GROUPS)], axes[len(GROUPS) :]]


def marks(axis: Axes, label: str) -> list[tuple[float, float]]:
    """Where those of the legend's `label` are: ours are matplotlib's error bars, the others its lines."""
    if label == OURS:
        (line,) = [container.lines[0] for container in axis.containers]
    else:
        (line,) = [line for line in axis.lines if line.get_label() == label]
    return list(zip(*line.get_data(), strict=True))


def ends(axis: Axes) -> list[tuple[float, float]]:
    """Of the intervals that are drawn, low and high."""
    (container,) = axis.containers
    (lines,) = container.lines[2]
    return [(float(low), float(high)) for (_, low), (_, high) in filter(len, lines.get_segments())]


@pytest.fixture(scope="module")
def whole():
    summary = whole_table()
    return summary, drawn(summary)


def test_every_row_stands_in_its_groups_panel_at_its_height(whole):
    summary, panels = whole
    for metric, axes in zip(("bleu", "perplexity"), panels, strict=True):
        ours, theirs = our_marks(summary.rows, metric), paper_marks(metric)
        for axis, names in zip(axes, ROWS, strict=True):
            for label, heights, side in ((OURS, ours, -1), (PAPERS, theirs, 1)):
                found = marks(axis, label)
                assert [height for _, height in found] == [heights[name].value for name in names]
                assert all(0 < side * (x - place) < 0.25 for place, (x, _) in enumerate(found))
            assert ends(axis) == [pytest.approx((ours[name].low, ours[name].high)) for name in names]


def test_the_line_of_base_is_no_difference(whole):
    _, (bleu, perplexity) = whole
    for axes, height in ((bleu, 0), (perplexity, 1)):
        assert [{y for _, y in marks(axis, BASE)} for axis in axes] == [{height}] * len(GROUPS)


def test_rows_are_named_below(whole):
    _, (_, axes) = whole
    names = [[tick.get_text().split("\n") for tick in axis.get_xticklabels()] for axis in axes]
    assert names[0] == [["h", "1"], ["h", "4"], ["h", "16"], ["h", "32"]]
    assert [name[-1] for name in names[2]] == ["2", "4", "8", "256", "1024", "1024", "4096"]
    assert names[4:] == [[["learned", "positions"]], [["big"]]]


def test_ratios_by_hand():
    """Perplexity a quarter more than base's, and within a factor of two."""
    row = finished("A_h_1", difference(-2.0, 0.5), ratio(1.25, 2.0))
    assert our_marks([row], "perplexity") == {"A_h_1": Mark(1.25, 0.625, 2.5, True)}
    assert our_marks([row], "bleu") == {"A_h_1": Mark(-2.0, -2.5, -1.5, True)}
    assert paper_marks("perplexity")["A_h_1"].value == 5.29 / 4.92
    assert paper_marks("bleu")["A_h_1"].value == -0.9


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_a_ratio_that_has_no_place_has_no_mark(value):
    assert our_marks([finished("A_h_1", None, Ratio(value, None, None, None, True))], "perplexity") == {}


def test_an_endless_interval_spoils_no_panel():
    """As of two seeds, one of which has gone astray."""
    _, axes = drawn(table(finished("A_h_1", None, Ratio(1.25, 0.0, math.inf, 0.5, True))))
    axes[0].figure.draw_without_rendering()
    assert [height for _, height in marks(axes[0], OURS)] == [1.25]
    bottom, top = axes[0].get_ylim()
    assert 0.5 < bottom < 1.25 < top < 2


def test_a_row_that_was_not_run_leaves_the_papers_mark():
    summary = table(random_row("base", 1), random_row("C_N_4", 1), not_run("C_N_2"))
    for axes in drawn(summary):
        assert [len(marks(axis, PAPERS)) for axis in axes] == [4, 2, 7, 4, 1, 1]
        assert [len(marks(axis, OURS)) for axis in axes] == [0, 0, 1, 0, 0, 0]
        assert round(marks(axes[2], OURS)[0][0]) == 1  # C_N_4 in its place, the second


def test_a_single_seed_is_marked():
    row = finished("B_d_k_32", difference(-1.0, 0.5, seeds_counted=False), ratio(1.03, None, seeds_counted=False))
    bleu, perplexity = drawn(table(random_row("base", 1), random_row("B_d_k_16", 1), row))
    for axes in (bleu, perplexity):
        assert [[text.get_text() for text in axis.texts] for axis in axes] == [[], ["†"], [], [], [], []]
    assert [len(marks(axis, OURS)) for axis in (bleu[1], perplexity[1])] == [2, 2]
    assert [len(ends(axis)) for axis in (bleu[1], perplexity[1])] == [2, 1]  # perplexity has no interval over one seed


@pytest.mark.parametrize("spread", [0.1, 3, 17])
def test_every_mark_is_within_its_panel_and_ticks_are_plain_numbers(spread):
    summary = whole_table(2, spread=spread)
    wide = finished("B_d_k_16", difference(-0.7, 80.0), ratio(1.06, 1e30))
    summary.rows[5] = wide  # an interval that would leave nothing of all others
    panels = drawn(summary)
    assert panels[0][0].get_yscale() == ("symlog" if spread > 2 else "linear")
    assert panels[1][0].get_yscale() == "log"
    for axes in panels:
        assert len({axis.get_ylim() for axis in axes}) == 1
        bottom, top = axes[0].get_ylim()
        heights = [y for axis in axes for label in (OURS, PAPERS) for _, y in marks(axis, label)]
        assert bottom < min(heights) < max(heights) < top
        to_height = axes[0].yaxis.get_transform().transform
        filled = to_height([max(heights)]) - to_height([min(heights)])
        assert filled > 0.5 * (to_height([top]) - to_height([bottom]))
        axes[0].figure.draw_without_rendering()
        shown = [float(text.get_text()) for text in axes[0].get_yticklabels() if text.get_text()]
        assert len([tick for tick in shown if bottom < tick < top]) >= 3
        assert shown == [float(tick) for tick in axes[0].get_yticks()]


def test_it_writes_both_files_whole_and_the_same_again(tmp_path):
    summary = whole_table()
    paths = plot(summary, tmp_path / "table3.dev")
    assert paths == [tmp_path / "table3.dev.png", tmp_path / "table3.dev.svg"]
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    png, svg = (path.read_bytes() for path in paths)
    assert png.startswith(b"\x89PNG")
    assert struct.unpack(">I", png[16:20]) == (1600,)
    assert b"<svg" in svg
    assert svg.rstrip().endswith(b"</svg>")
    assert [path.read_bytes() for path in plot(summary, tmp_path / "table3.dev")] == [png, svg]


def test_the_title_says_scale_corpus_and_seeds():
    summary = table(random_row("base", 1), random_row("big", 1), not_run("C_N_2"))
    assert title(summary).endswith(
        "base of 1,104,391 parameters, 601 steps; builtin:dev (en-de), 500 sentences; seeds a row: 3"
    )
    fewer = finished("A_h_1", difference(-1.0, 0.5), None, seeds=[2])
    assert title(table(fewer, random_row("big", 1))).endswith(
        "Ours: builtin:dev (en-de), 500 sentences; seeds a row: 1 to 3"
    )
    assert title(table(not_run("base"))).endswith("seeds a row: 0")


def test_a_long_title_stays_in_the_picture_and_off_the_panels():
    """Files are named by their paths."""
    paths = "data/multi30k/tok/val.lc.norm.tok.en.gz and data/multi30k/tok/val.lc.norm.tok.de.gz, 1,014 sentences"
    picture = figure(replace(whole_table(), corpus=paths))
    picture.draw_without_rendering()
    (box,) = [text.get_window_extent() for text in picture.texts if text.get_text().startswith("Table 3")]
    assert 0 <= box.x0 < box.x1 <= picture.bbox.width
    assert box.y1 <= picture.bbox.height
    assert box.y0 >= max(axis.title.get_window_extent().y1 for axis in picture.axes)
