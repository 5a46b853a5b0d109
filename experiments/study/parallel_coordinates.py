"""Every finished trial of a sweep as a line across all parameters."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib import colormaps
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator
from optuna.distributions import CategoricalDistribution, IntDistribution
from optuna.trial import FrozenTrial
from optuna.visualization import plot_parallel_coordinate
from plotly.graph_objects import Figure as Page

from experiments.study.drawing import CHARACTER, LINE, ORANGE, empty, html, parted, wrapped
from experiments.study.finished_trials import FinishedTrials

_Axis = tuple[list[float], list[tuple[float, str]]]  # heights of trials, the best first; heights and texts of ticks


def parallel_coordinates(finished: FinishedTrials) -> tuple[Page, Figure]:
    """A trial is a line: the best on top, in a colour of its own."""
    numbers = [trial.number for trial in finished.trials if trial.values[0] == finished.scores[0]]
    best = f"{finished.scores[0]:.5g}, trial {numbers[0]}" + f" and {len(numbers) - 1} equal ones" * (len(numbers) > 1)
    title = f"{finished.metric} by parameters; the darker the better. Orange: {best}. {finished.counts}."
    drawn = _lines(finished, title)
    return _page(finished, title, *(round(96 * inches) + 150 for inches in drawn.get_size_inches())), drawn


def _page(finished: FinishedTrials, title: str, width: int, height: int) -> Page:
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
    page.update_layout(title=html(wrapped(title, width // 8)), annotations=clear, width=width, height=height)
    page.for_each_annotation(lambda note: note.update(text=html(parted(note.text))))
    return page.update_xaxes(ticktext=[html(parted(name)) for name in names], tickangle=0)


def _lines(finished: FinishedTrials, title: str) -> Figure:
    """The same: of Optuna's PNG neither names nor numbers can be read."""
    scores, names = finished.scores, [parted(name) for name in (finished.metric, *finished.parameters)]
    outliers = scores[0] < scores[-1] > 10 * scores[0] > 0  # of which a linear axis would show nothing else
    axes = [_numbers(scores, min(scores), max(scores), outliers)]
    axes += [_axis(finished.trials, name) for name in finished.parameters]
    texts = [*names, *(text for _, ticks in axes for _, text in ticks)]
    slot = 0.4 + CHARACTER * max(len(line) for text in texts for line in text.split("\n"))
    rows = max(sum(text.count("\n") + 1.5 for _, text in ticks) for _, ticks in axes)
    below = 0.4 + LINE * max(name.count("\n") + 1 for name in names)
    drawn, axis = empty(title, slot * (len(axes) + 0.5), 1 + max(4.0, LINE * rows) + below, 0, below)
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
    return (ORANGE, 3) if scores[rank] == scores[0] else (shade, 1.2)


def _axis(trials: Sequence[FrozenTrial], name: str) -> _Axis:
    """From end to end of what could be sampled; below it, if need be, a place for trials without the parameter."""
    drawn: list[Any] = [trial.distributions[name] for trial in trials if name in trial.params]
    values = [trial.params[name] for trial in trials if name in trial.params]
    if isinstance(drawn[0], CategoricalDistribution):
        choices = list(dict.fromkeys(str(choice) for each in drawn for choice in each.choices))
        places = {choice: (place + 0.5) / len(choices) for place, choice in enumerate(choices)}
        heights, ticks = [places[str(value)] for value in values], [(places[each], parted(each)) for each in choices]
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
