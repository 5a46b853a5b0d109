"""Pictures of a sweep: how much each parameter matters, and every finished trial as a line across all parameters.

Finished trials are those with a finite score; each picture says how many of how many. Pruned trials have no score, so
what made a trial be pruned does not show: a parameter whose bad values are all pruned seems to matter little.

Importance is PED-ANOVA (Watanabe et al. 2023, arXiv:2304.10255): how differently a parameter is distributed among the
best trials and among all; where it is sampled in some trials only, within those (arXiv:2601.20800).
"""

import math
import re
import textwrap
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import optuna
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator
from optuna.distributions import CategoricalDistribution, IntDistribution
from optuna.importance import PedAnovaImportanceEvaluator
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState
from optuna.visualization import plot_parallel_coordinate, plot_param_importances
from plotly.graph_objects import Figure as Page

from experiments.workdir import whole_file, write_text

_BLUE, _ORANGE = "#0072B2", "#D55E00"  # told apart without red and green: Okabe and Ito
_STATES = {TrialState.COMPLETE: "without a finite score", TrialState.FAIL: "failed"}
# In simulated sweeps, the best quarter told which of six parameters decides more surely than the best tenth: of 100
# sweeps, in 71 with 10 trials each, in 95 with 20, in 99 with 30.
_BEST, _FEW = 5, 20
_CHARACTER, _LINE = 0.08, 0.17  # of 9 point text, in inches
_Axis = tuple[list[float], list[tuple[float, str]]]  # heights of trials, the best first; heights and texts of ticks


class _NoPicture(Exception):  # noqa: N818
    """Why there is nothing to draw: no error, the study is young."""


class _Finished(NamedTuple):
    """The finished trials at one moment: other processes may be adding to the study."""

    study: Study  # of these trials alone, numbered anew
    trials: list[FrozenTrial]  # the best first
    scores: list[float]  # theirs
    parameters: dict[str, int]  # how many trials have each, in Optuna's order
    metric: str  # and which is better
    counts: str  # of how many, and of the others


def write_pictures(study: Study, metric: str, into: Path) -> list[str]:
    """Writes `importance` and `parallel_coordinates` into a folder, each as .png and as .html, which needs no network.

    The study has one objective; `metric` is what people call it. Returns a line for each picture that could not be
    made, with the reason; if it is there nevertheless, it is removed, for it is another study's.
    """
    into.mkdir(parents=True, exist_ok=True)
    finished = _finished(study, metric)
    notes = []
    for name, draw in (("importance", _importance), ("parallel_coordinates", _parallel_coordinates)):
        html, png = into / f"{name}.html", into / f"{name}.png"
        try:
            if len(finished.trials) < 2 or not finished.parameters:
                raise _NoPicture(f"finished trials: {len(finished.trials)}, parameters: {len(finished.parameters)}")
            page, picture = draw(finished)
        except _NoPicture as reason:
            html.unlink(missing_ok=True)
            png.unlink(missing_ok=True)
            notes.append(f"{html.name}, {png.name}: not drawn: {reason}")
        else:
            write_text(html, page.to_html(include_plotlyjs=True, div_id=name))
            with whole_file(png) as temporary:
                picture.savefig(temporary, format="png")
    return notes


def _finished(study: Study, metric: str) -> _Finished:
    everything, higher = study.get_trials(deepcopy=False), study.direction == StudyDirection.MAXIMIZE
    trials = [t for t in everything if t.state == TrialState.COMPLETE and math.isfinite(t.values[0])]
    trials.sort(key=lambda trial: trial.values[0], reverse=higher)
    others = Counter(t.state for t in everything) - Counter(t.state for t in trials)
    left_out = [f"{number} {_STATES.get(state, state.name.lower())}" for state, number in sorted(others.items())]
    alone = optuna.create_study(direction=study.direction)
    alone.add_trials(trials)
    return _Finished(
        alone,
        trials,
        [trial.values[0] for trial in trials],
        dict(sorted(Counter(name for trial in trials for name in trial.params).items())),
        f"{metric} ({'higher' if higher else 'lower'} is better)",
        f"{len(trials)} of {len(everything)} trials shown" + "; not shown: " * bool(left_out) + ", ".join(left_out),
    )


def _importance(finished: _Finished) -> tuple[Page, Figure]:
    """Bars, the longest above."""
    best, count = _number_of_best(finished), len(finished.trials)
    evaluator = PedAnovaImportanceEvaluator(target_quantile=(best - 0.5) / count)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some regimes for parameter", UserWarning)  # the labels say how few trials
        page = plot_param_importances(finished.study, evaluator, list(finished.parameters))  # or in a set's order
    names, shares = page.data[0].y, page.data[0].x
    if len(set(shares)) == 1:
        raise _NoPicture("no parameter is distributed more differently among the best trials than another")
    some = {name: f" (in {had} of {count} trials)" * (had < count) for name, had in finished.parameters.items()}
    labels = [_wrapped(name + some[name], 44) for name in names]
    few = f" Fewer than {_FEW}: chance may rank the parameters." * (count < _FEW)
    method = f"PED-ANOVA, what tells the best {best} trials from all {count}"
    title = f"What matters for {finished.metric}: {method}. {finished.counts}.{few}"
    scale = "share of the importance (the sum is 1, whether or not anything matters)"
    page.update_layout(title=_html(_wrapped(title, 110)), xaxis_title=scale, yaxis_title="")
    page.update_layout(height=230 + 48 * len(labels)).update_yaxes(tickvals=names, ticktext=[*map(_html, labels)])
    left = 0.3 + _CHARACTER * max(len(line) for label in labels for line in label.split("\n"))
    drawn, axis = _empty(title, left + 5.5, 1.6 + 0.5 * len(labels), left, 0.6)
    axis.bar_label(axis.barh(names, shares, height=0.6, color=_BLUE), page.data[0].text, padding=3, fontsize=9)
    axis.set_yticks(range(len(labels)), labels, fontsize=9, parse_math=False)
    axis.set(xlim=(0, 1.1 * max(shares)), xlabel=scale)
    axis.spines[["top", "right"]].set_visible(False)
    return page, drawn


def _number_of_best(finished: _Finished) -> int:
    """A quarter of the trials, or five if that is more and no more than half; with all that equal the last of them."""
    varied = {name for t in finished.trials for name, drawn in t.distributions.items() if not drawn.single()}
    if len(varied) < 2:
        raise _NoPicture(f"parameters that vary: {len(varied)}, and shares need 2")
    scores = finished.scores
    last = scores[max(min(_BEST, len(scores) // 2), math.ceil(len(scores) / 4)) - 1]
    if last == scores[-1]:
        raise _NoPicture("so many scores are equal that the best trials cannot be told from the rest")
    return len(scores) - scores[::-1].index(last)


def _parallel_coordinates(finished: _Finished) -> tuple[Page, Figure]:
    """A trial is a line: the best on top, in a colour of its own."""
    numbers = [trial.number for trial in finished.trials if trial.values[0] == finished.scores[0]]
    best = f"{finished.scores[0]:.5g}, trial {numbers[0]}" + f" and {len(numbers) - 1} equal ones" * (len(numbers) > 1)
    title = f"{finished.metric} by parameters; the darker the better. Orange: {best}. {finished.counts}."
    drawn = _lines(finished, title)
    return _page(finished, title, *(round(96 * inches) + 150 for inches in drawn.get_size_inches())), drawn


def _page(finished: _Finished, title: str, width: int, height: int) -> Page:
    """Optuna's, with names in full, which it cuts after 17 characters, and the best lines above the others."""
    names = [finished.metric, *finished.parameters]
    page = plot_parallel_coordinate(finished.study, target_name=finished.metric)
    lines = sorted(page.data[:-1], key=lambda line: line.y[0], reverse=finished.scores[0] > finished.scores[-1])
    for rank, line in enumerate(lines):
        said = (f"{name}: {text}" for name, (_, text) in zip(names, line.customdata, strict=True))
        line.update(customdata=None, hovertemplate="<br>".join(said) + "<extra></extra>", opacity=0.8)
        line.line.color, line.line.width = _stroke(finished.scores, rank)
    page.data = lines[::-1]  # without Optuna's scale of colours, on which one bad score makes all others the same
    title += " None: not sampled." * any(having < len(lines) for having in finished.parameters.values())
    notes = page.layout.annotations  # ticks, from low to high on each axis, of which some stand upon each other
    clear = [note for note, up in zip(notes, (*notes[1:], notes[0]), strict=True) if not 0 < up.y - note.y < 0.03]
    page.update_layout(title=_html(_wrapped(title, width // 8)), annotations=clear, width=width, height=height)
    page.for_each_annotation(lambda note: note.update(text=_html(_parted(note.text))))
    return page.update_xaxes(ticktext=[_html(_parted(name)) for name in names], tickangle=0)


def _lines(finished: _Finished, title: str) -> Figure:
    """The same: of Optuna's PNG neither names nor numbers can be read."""
    scores, names = finished.scores, [_parted(name) for name in (finished.metric, *finished.parameters)]
    outliers = scores[0] < scores[-1] > 10 * scores[0] > 0  # of which a linear axis would show nothing else
    axes = [_numbers(scores, min(scores), max(scores), outliers)]
    axes += [_axis(finished.trials, name) for name in finished.parameters]
    texts = [*names, *(text for _, ticks in axes for _, text in ticks)]
    slot = 0.4 + _CHARACTER * max(len(line) for text in texts for line in text.split("\n"))
    rows = max(sum(text.count("\n") + 1.5 for _, text in ticks) for _, ticks in axes)
    below = 0.4 + _LINE * max(name.count("\n") + 1 for name in names)
    drawn, axis = _empty(title, slot * (len(axes) + 0.5), 1 + max(4.0, _LINE * rows) + below, 0, below)
    for rank, line in enumerate(zip(*(heights for heights, _ in axes), strict=True)):
        colour, width = _stroke(scores, rank)
        axis.plot(range(len(axes)), line, color=colour, linewidth=width, zorder=3 - rank / len(scores))
    style: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": 9, "parse_math": False, "zorder": 4}
    style["bbox"] = {"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.5}
    for place, (_, ticks) in enumerate(axes):
        for height, text in ticks:
            axis.text(place - 0.05, height, text, **style)
    axis.vlines(range(len(axes)), 0, 1, color="#888888", linewidth=1)
    axis.set_xticks(range(len(axes)), names, fontsize=9, parse_math=False)
    axis.set(xlim=(-1, len(axes) - 0.5), ylim=(-0.04, 1.04), yticks=[])
    axis.spines[:].set_visible(False)
    return drawn


def _stroke(scores: Sequence[float], rank: int) -> tuple[str, float]:
    """Of a trial's line, colour and width."""
    shade = to_hex(colormaps["YlGnBu"](1 - 0.8 * rank / len(scores)))
    return (_ORANGE, 3) if scores[rank] == scores[0] else (shade, 1.2)


def _axis(trials: Sequence[FrozenTrial], name: str) -> _Axis:
    """From end to end of what could be sampled; below it, if need be, a place for trials without the parameter."""
    drawn: list[Any] = [trial.distributions[name] for trial in trials if name in trial.params]
    values = [trial.params[name] for trial in trials if name in trial.params]
    if isinstance(drawn[0], CategoricalDistribution):
        choices = list(dict.fromkeys(str(choice) for each in drawn for choice in each.choices))
        places = {choice: (place + 0.5) / len(choices) for place, choice in enumerate(choices)}
        heights, ticks = [places[str(value)] for value in values], [(places[each], _parted(each)) for each in choices]
    else:
        low, high = min(*values, *(each.low for each in drawn)), max(*values, *(each.high for each in drawn))
        log, whole = all(each.log for each in drawn), isinstance(drawn[0], IntDistribution)
        heights, ticks = _numbers(values, low, high, log, whole)
    if len(values) == len(trials):
        return heights, ticks
    place = iter(heights)
    heights = [0.12 + 0.88 * next(place) if name in trial.params else 0.0 for trial in trials]
    return heights, [(0.0, "not sampled"), *((0.12 + 0.88 * height, text) for height, text in ticks)]


def _numbers(values: Sequence[float], low: float, high: float, log: bool, whole: bool = False) -> _Axis:
    to, locator = (math.log, LogLocator(subs=(1, 2, 5))) if log else (float, MaxNLocator(6, integer=whole))

    def height(value: float) -> float:
        return (to(value) - to(low)) / (to(high) - to(low)) if low < high else 0.5

    ticks = [text for tick in locator.tick_values(low, high) if low <= float(text := f"{tick:.8g}") <= high]
    ticks = ticks if len(ticks) > 1 else list(dict.fromkeys((f"{low:.5g}", f"{high:.5g}")))
    return [height(value) for value in values], [(height(float(text)), text) for text in ticks]


def _empty(title: str, width: float, height: float, left: float, bottom: float) -> tuple[Figure, Axes]:
    """A figure with a title, and room below it; in inches."""
    drawn = Figure(figsize=(width, height), dpi=100)
    drawn.suptitle(_wrapped(title, round(12 * width)), x=0.15 / width, ha="left", fontsize=10, parse_math=False)
    box = (left / width, bottom / height, 1 - (left + 0.3) / width, 1 - (bottom + 1) / height)
    return drawn, drawn.add_axes(box)


def _wrapped(text: str, width: int) -> str:
    return "\n".join(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False))


def _parted(text: str) -> str:
    """Over lines: after a setting's "Model.", and between settings that are chosen together."""
    parts = re.sub(r"^[A-Z]\w*\.|, (?=[a-z])", r"\g<0>\n", text).split("\n")
    return "\n".join(_wrapped(part, 20) for part in parts)


def _html(text: str) -> str:
    return text.replace("\n", "<br>")
