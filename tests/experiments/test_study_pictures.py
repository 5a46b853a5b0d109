"""Pictures of a sweep say what its finished trials say, and say so where there is too little to say."""

import math
import random
import re
import struct
from html.parser import HTMLParser
from itertools import combinations

import optuna
import pytest
from matplotlib.figure import Figure
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from experiments.study.drawing import ORANGE
from experiments.study.finished_trials import finished_trials
from experiments.study.importance import importance, number_of_best
from experiments.study.parallel_coordinates import parallel_coordinates
from experiments.study.pictures import write_pictures

RATE, DROPOUT, STEPS = "Optimizer.learning_rate_scale", "Model.dropout_rate", "Optimizer.warmup_steps"
NORM = "Model.pre_norm"
HEADS = ("num_heads 1, d_k 512, d_v 512", "num_heads 8, d_k ('choice', 16, 32, 64), d_v 64")
D_K = f"Model.d_k if heads = {HEADS[1]}"  # sampled with the second only
SPACE = {
    RATE: FloatDistribution(0.01, 10, log=True),
    DROPOUT: FloatDistribution(0, 0.5),
    STEPS: IntDistribution(100, 4000),
    NORM: CategoricalDistribution([False, None, "both"]),
    "heads": CategoricalDistribution(HEADS),
    D_K: CategoricalDistribution([16, 32, 64]),
}
ALL = ["importance.html", "importance.png", "parallel_coordinates.html", "parallel_coordinates.png"]


def point(at: random.Random) -> dict:
    params = {RATE: 10 ** at.uniform(-2, 1), DROPOUT: at.uniform(0, 0.5), STEPS: at.randint(100, 4000)}
    params |= {NORM: at.choice(SPACE[NORM].choices), "heads": at.choice(HEADS)}
    return params | ({D_K: at.choice((16, 32, 64))} if params["heads"] == HEADS[1] else {})


def trial(params: dict, value: float | None, state: TrialState = TrialState.COMPLETE) -> optuna.trial.FrozenTrial:
    space = {name: SPACE.get(name, FloatDistribution(0, 1)) for name in params}
    return create_trial(state=state, value=value, params=params, distributions=space)


def study_of(*trials: optuna.trial.FrozenTrial, direction: str = "maximize") -> optuna.Study:
    study = optuna.create_study(direction=direction)
    study.add_trials(trials)
    return study


def decided_by(name: str, count: int = 37, direction: str = "maximize") -> optuna.Study:
    """The nearer the parameter is to the middle of its range, the better, and nothing else matters."""
    drawn, low, high = random.Random(3), math.log(SPACE[name].low or 1), math.log(SPACE[name].high)
    sign = 1 if direction == "maximize" else -1
    points = [point(drawn) for _ in range(count)]
    scores = [30 - sign * abs(math.log(each[name]) - (low + high) / 2) for each in points]
    return study_of(*map(trial, points, scores), direction=direction)


def finished(study: optuna.Study):
    return finished_trials(study, "BLEU")


def shares(study: optuna.Study) -> dict[str, float]:
    """In the picture's order, from above."""
    bars = importance(finished(study))[0].data[0]
    return dict(reversed(list(zip(bars.y, bars.x, strict=True))))


class Page(HTMLParser):
    """What a page would fetch, and the script that draws."""

    def __init__(self, path):
        super().__init__()
        self.fetched = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, _tag, attrs):
        self.fetched += [value for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data):
        if data.strip():
            self.script = data  # in the end the last one, after plotly.js


@pytest.fixture(scope="module", autouse=True)
def _quiet():
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)  # without the news that a study was made
    yield
    optuna.logging.set_verbosity(verbosity)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with the pictures of a sweep in which the rate decides, and with every kind of trial."""
    drawn = random.Random(5)
    study = decided_by(RATE)
    last_reported = 99.0  # which Optuna gives a pruned trial as its value
    study.add_trials(trial(point(drawn), last_reported, TrialState.PRUNED) for _ in range(5))
    study.add_trials(trial(point(drawn), None, TrialState.FAIL) for _ in range(2))
    study.add_trial(trial(point(drawn), math.inf))
    study.ask()
    into = tmp_path_factory.mktemp("pictures")
    assert write_pictures(study, "BLEU", into / "new") == []
    return study, into / "new"


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
@pytest.mark.parametrize("name", [RATE, STEPS])
def test_what_decides_is_first(name, direction):
    found = shares(decided_by(name, direction=direction))
    assert next(iter(found)) == name
    assert found[name] > 0.5
    assert sum(found.values()) == pytest.approx(1)
    assert set(found) == set(SPACE)


def test_trials_without_a_score_change_nothing(written):
    """What is told of finished trials is the same whether or not others were pruned, failed, or are running."""
    assert shares(written[0]) == shares(decided_by(RATE))


def test_what_is_pruned_away_is_not_seen():
    """The other side of it: the importance is among finished trials. If all bad rates are pruned, none is left."""
    study = decided_by(RATE, 97)
    good = [each for each in study.trials if each.value > 29.7]
    others = [trial(each.params, None, TrialState.PRUNED) for each in study.trials if each.value <= 29.7]
    noise = random.Random(7)
    alike = [trial(each.params, noise.random()) for each in good]
    assert shares(study)[RATE] > 0.8
    assert shares(study_of(*alike, *others))[RATE] < 0.5


def test_all_four_are_written_whole(written):
    _, into = written
    assert sorted(path.name for path in into.iterdir()) == ALL
    for name in ALL[1::2]:
        content = (into / name).read_bytes()
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        assert content.endswith(b"IEND\xaeB`\x82")
        width, height = struct.unpack(">II", content[16:24])
        assert 800 < width < 2000
        assert 450 < height < 1000


def test_pages_fetch_nothing_and_name_every_parameter(written):
    for name in ALL[0::2]:
        page = Page(written[1] / name)
        assert page.fetched == []
        assert 100 < len(page.script) < 100_000
        assert all(parameter in page.script for parameter in SPACE)


def test_every_axis_of_the_page_has_its_name_in_full(written):
    page, _ = parallel_coordinates(finished(written[0]))
    names = [re.sub(r"^(\w+\.)<br>", r"\1", text).replace("<br>", " ") for text in page.layout.xaxis.ticktext]
    assert names == ["BLEU (higher is better)", *sorted(SPACE)]


def test_parameters_that_matter_equally_have_one_order():
    """Those with nothing to choose from, after those that vary: the order of a set would differ between processes."""
    alike = [f"alike {letter}" for letter in "abcdefg"]
    space = SPACE | dict.fromkeys(alike, CategoricalDistribution(["only"]))
    drawn = random.Random(19)
    points = [{RATE: drawn.uniform(0.1, 1), DROPOUT: drawn.random() / 2, **dict.fromkeys(alike, "only")}
              for _ in range(9)]  # fmt: skip
    trials = [create_trial(value=each[RATE], params=each, distributions={name: space[name] for name in each})
              for each in points]  # fmt: skip
    found = shares(study_of(*trials))
    assert list(found)[2:] == alike[::-1]
    assert {found[name] for name in alike} == {0}


def test_pictures_say_how_many_trials_they_show(written):
    counts = "37 of 46 trials shown; not shown: 1 running, 1 without a finite score, 5 pruned, 2 failed"
    for draw in (importance, parallel_coordinates):
        page, drawn = draw(finished(written[0]))
        titles = page.layout.title.text.replace("<br>", " "), drawn.get_suptitle().replace("\n", " ")
        assert all("BLEU (higher is better)" in title and counts in title for title in titles)


def test_the_same_study_gives_the_same_files(written, tmp_path):
    assert write_pictures(written[0], "BLEU", tmp_path) == []
    for name in ALL:
        assert (tmp_path / name).read_bytes() == (written[1] / name).read_bytes()


def test_a_conditional_parameter_is_ranked_among_the_trials_that_have_it():
    """It decides where it is sampled, and nothing else does."""
    drawn = random.Random(11)
    points = [point(drawn) for _ in range(60)]
    study = study_of(*(trial(each, {16: 30.0, 32: 10.0, 64: 5.0, None: 7.0}[each.get(D_K)]) for each in points))
    found = shares(study)
    assert list(found)[:2] == [D_K, "heads"] or list(found)[:2] == ["heads", D_K]
    having = sum(D_K in each for each in points)
    page, _ = importance(finished(study))
    labels = [label.replace("<br>", " ") for label in page.layout.yaxis.ticktext]
    assert f"{D_K} (in {having} of 60 trials)" in labels
    assert DROPOUT in labels


BEST = [(2, 1, True), (3, 1, True), (7, 3, True), (19, 5, True), (20, 5, False), (21, 6, False), (97, 25, False)]


@pytest.mark.parametrize(("count", "best", "warned"), BEST)
def test_the_best_are_a_quarter_but_five_where_that_is_no_more_than_half(count, best, warned):
    drawn = random.Random(13)
    young = finished(study_of(*(trial(point(drawn), float(score)) for score in range(count))))
    assert number_of_best(young) == best
    if count > 3:
        title = importance(young)[0].layout.title.text.replace("<br>", " ")
        assert f"the best {best} trials from all {count}." in title
        assert ("chance may rank" in title) == warned


def test_equals_of_the_best_are_among_the_best():
    drawn = random.Random(17)
    scores = [9.0, 8.0, 7.0, 7.0, 7.0, 7.0, 7.0, *range(6)]
    assert number_of_best(finished(study_of(*(trial(point(drawn), score) for score in scores)))) == 7


def picture(study: optuna.Study):
    """The axes of the PNG, and its lines as heights, each with its colour."""
    _, drawn = parallel_coordinates(finished(study))
    (axes,) = drawn.axes
    return axes, [(list(line.get_ydata()), line.get_color()) for line in axes.lines]


def ticks(axes, place: int) -> dict[str, float]:
    found = [(text.get_text(), text.get_position()) for text in axes.texts]
    return {text: height for text, (left, height) in found if round(left) == place}


def test_lines_by_hand():
    """Names in the order of the alphabet: dropout is linear, d_k is conditional, the rate is logarithmic."""
    study = study_of(
        trial({DROPOUT: 0.1, RATE: 0.1, D_K: 64}, 20.0),
        trial({DROPOUT: 0.25, RATE: 10.0, D_K: 16}, 30.0),
        trial({DROPOUT: 0.4, RATE: 0.01}, 25.0),
    )
    axes, lines = picture(study)
    names = [label.get_text().replace("\n", " ") for label in axes.get_xticklabels()]
    assert names[0] == "BLEU (higher is better)"
    assert [name.replace(". ", ".") for name in names[1:]] == [D_K, DROPOUT, RATE]
    heights = [pytest.approx(line) for line, _ in lines]
    first, middle, last = (0.12 + 0.88 * place for place in (1 / 6, 3 / 6, 5 / 6))
    assert heights == [[1, first, 0.5, 1], [0.5, 0, 0.8, 0], [0, last, 0.2, 1 / 3]]  # the best first
    assert ticks(axes, 1) == pytest.approx({"not sampled": 0, "16": first, "32": middle, "64": last})
    assert ticks(axes, 3)["0.1"] == pytest.approx(1 / 3)
    assert ticks(axes, 3)["1"] == pytest.approx(2 / 3)
    assert ticks(axes, 2)["0.5"] == 1


def test_a_tick_of_the_page_is_not_written_over_the_next():
    page, _ = parallel_coordinates(finished(study_of(*(trial({RATE: rate}, rate) for rate in (0.099, 2, 9)))))
    assert [note.text for note in page.layout.annotations if note.x == 1] == ["0.1", "1", "9"]


@pytest.mark.parametrize(("direction", "best"), [("maximize", 2), ("minimize", 1)])
def test_the_best_is_orange_on_top_and_named(direction, best):
    study = study_of(*(trial({DROPOUT: 0.1 * index}, score) for index, score in enumerate([3.0, 2.0, 5.0, 4.0])),
                     direction=direction)  # fmt: skip
    page, drawn = parallel_coordinates(finished(study))
    assert f"Orange: {study.best_value:g}, trial {best}. 4 of 4" in drawn.get_suptitle().replace("\n", " ")
    orange = [line for line in drawn.axes[0].lines if line.get_color() == ORANGE]
    assert [line.get_ydata()[1] for line in orange] == [pytest.approx(0.2 * best)]
    assert all(line is orange[0] or line.get_zorder() < orange[0].get_zorder() for line in drawn.axes[0].lines)
    assert [line.line.color == ORANGE for line in page.data] == [False, False, False, True]
    assert f"{DROPOUT}: {0.1 * best:g}<" in page.data[-1].hovertemplate.replace("<extra>", "<")


def test_equal_bests_are_all_orange():
    study = study_of(*(trial({DROPOUT: 0.1 * index}, score) for index, score in enumerate([5.0, 2.0, 5.0])))
    page, drawn = parallel_coordinates(finished(study))
    assert "Orange: 5, trial 0 and 1 equal ones." in drawn.get_suptitle().replace("\n", " ")
    assert sum(line.get_color() == ORANGE for line in drawn.axes[0].lines) == 2
    assert sum(line.line.color == ORANGE for line in page.data) == 2


def test_an_outlier_does_not_hide_the_others():
    """Perplexity of 1,000 beside 4 and 5: logarithmic; BLEU of 1 beside 20 and 30 is not: 20 and 30 would be one."""
    rows = [{DROPOUT: 0.1}, {DROPOUT: 0.2}, {DROPOUT: 0.3}]
    _, lines = picture(study_of(*map(trial, rows, [4.0, 5.0, 1000.0]), direction="minimize"))
    assert lines[1][0][0] == pytest.approx(math.log(5 / 4) / math.log(250))
    _, lines = picture(study_of(*map(trial, rows, [1.0, 20.0, 30.0])))
    assert lines[1][0][0] == pytest.approx(19 / 29)


def crowded() -> optuna.Study:
    """Long names side by side, and many things to choose from."""
    names = ["Model.feed_forward_dropout_rate", "Model.feed_forward_wide_dropout", "Model.feed_forward_x_dropout"]
    bundles = CategoricalDistribution([f"num_heads {n}, d_k {512 // n}, d_v {512 // n}" for n in range(1, 14)])
    space = {name: FloatDistribution(0, 0.5) for name in names} | {"heads": bundles, "sizes": bundles}
    drawn = random.Random(23)
    points = [dict.fromkeys(names, drawn.uniform(0, 0.5)) | dict.fromkeys(("heads", "sizes"), bundle)
              for bundle in bundles.choices]  # fmt: skip
    return study_of(*(create_trial(value=drawn.random(), params=each, distributions=space) for each in points))


@pytest.mark.parametrize("made", [lambda: decided_by(RATE), crowded], ids=["usual", "crowded"])
def test_no_text_is_written_over_another(made):
    study = finished(made())
    for draw in (importance, parallel_coordinates):
        _, drawn = draw(study)
        drawn.draw_without_rendering()
        axes = drawn.axes[0]
        across = zip(axes.get_xticklabels(), axes.get_xticks(), strict=True)
        within = [label for label, place in across if place <= axes.get_xlim()[1]]
        texts = [*axes.texts, *within, *axes.get_yticklabels(), axes.xaxis.label, drawn._suptitle]
        boxes = [text.get_window_extent() for text in texts if text.get_text()]
        assert len(boxes) > 10
        assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
        assert all(drawn.bbox.containsx(x) for box in boxes for x in box.intervalx)
        assert all(drawn.bbox.containsy(y) for box in boxes for y in box.intervaly)


PAIR = {"a": 0.1, "b": 0.2}
YOUNG = {
    "nothing": ([], ["finished trials: 0", "finished trials: 0"]),
    "one": ([trial(PAIR, 1.0)], ["finished trials: 1", "finished trials: 1"]),
    "one with a score": ([trial(PAIR, 1.0), trial(PAIR, math.inf), trial(PAIR, None, TrialState.PRUNED)],
                         ["finished trials: 1", "finished trials: 1"]),
    "no parameter": ([trial({}, 1.0), trial({}, 2.0)], ["parameters: 0", "parameters: 0"]),
    "one parameter": ([trial({"a": 0.1}, 1.0), trial({"a": 0.2}, 2.0)], ["parameters that vary: 1"]),
    "equal scores": ([trial(PAIR, 1.0), trial({"a": 0.3, "b": 0.9}, 1.0)], ["equal"]),
    "each trial its own": ([trial({"a": 0.1}, 1.0), trial({"b": 0.1}, 2.0)], ["no parameter is distributed"]),
}  # fmt: skip


@pytest.mark.parametrize("name", YOUNG)
def test_what_cannot_be_drawn_is_said_and_nothing_older_stays(name, tmp_path, capfd):
    trials, reasons = YOUNG[name]
    for stale in ALL:
        (tmp_path / stale).write_text("of another study")
    notes = write_pictures(study_of(*trials), "BLEU", tmp_path)
    assert len(notes) == len(reasons)
    for note, reason, picture_name in zip(notes, reasons, ("importance", "parallel_coordinates"), strict=False):
        assert note.startswith(f"{picture_name}.html, {picture_name}.png: not drawn: ")
        assert reason in note
    left = [path.name for path in sorted(tmp_path.iterdir())]
    assert left == ALL[2 * len(notes) :]
    assert all(b"another" not in (tmp_path / each).read_bytes()[:20] for each in left)
    assert capfd.readouterr() == ("", "")


def test_a_failure_to_draw_leaves_the_older_picture(tmp_path, monkeypatch):
    (tmp_path / "importance.png").write_text("older")

    def full(_drawn, path, **_):
        path.write_bytes(b"\x89PNG half")
        raise OSError("no space left on device")

    monkeypatch.setattr(Figure, "savefig", full)
    with pytest.raises(OSError, match="no space"):
        write_pictures(decided_by(RATE, 7), "BLEU", tmp_path)
    assert (tmp_path / "importance.png").read_text() == "older"
    assert sorted(path.name for path in tmp_path.iterdir()) == ALL[:2]
