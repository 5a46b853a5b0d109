"""The gallery: which pictures, the command of each, and what else is to be said."""

import itertools
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from experiments import attention_maps
from experiments.attention.drawing import save
from experiments.attention.files import PICTURES
from experiments.attention.numbers import numerals_section
from experiments.attention.run import Run, read_run
from experiments.attention.seen import Seen, see
from experiments.attention.statistics import statistics
from experiments.attention.view import TITLES, View, view_of
from experiments.markdown import listed
from experiments.workdir import read_experiment

_SENTENCES = {
    "multi30k": "two young girls are making a sand castle on the beach with their father .",
    "quickstart": "My brother paid ninety-nine British pounds on 19 July 1990.",
}
_INTRODUCTION = """\
# What the heads look at

The paper's Figures 3 to 5 show attention of its English-German model, whose weights were not published. These are
pictures of the same kinds, of small models that were trained here. Each is one of the files that the command below it
writes; the others are a page to look round in with a browser, and the same pictures as SVG. Layers and heads are
counted from 1; a dot stands before a token that goes on with a word.

This page is written by `python -m experiments.gallery`. Its models:

"""


class Picture(NamedTuple):
    """One of the files that a command writes."""

    name: str
    file: Literal["lines", "heads"]
    run: Literal["multi30k", "quickstart"]
    flags: tuple[str, ...]
    title: str


_PICTURES = (
    Picture("one_word", "lines", "multi30k", ("--layer=3", "--word=making"), "One word, all heads (Figure 3)"),
    Picture("one_head", "lines", "multi30k", ("--layer=3", "--heads=1"), "One head, all words (Figures 4 and 5)"),
    Picture("two_heads", "lines", "multi30k", ("--layer=3", "--heads=1,4", "--word=the"),
            "Two heads, one word (Figure 4, below)"),
    Picture("sheet", "heads", "multi30k", ("--layer=3",), "All heads of a layer"),
    Picture("numeral", "lines", "quickstart", ("--stack=source", "--word=neunundneunzig"),
            "A numeral that turns round: what its German looks at in the English"),
    Picture("word_order", "heads", "quickstart", ("--stack=source",),
            "German word order: the date moves to the front, the verb to the end"),
)  # fmt: skip


def gallery(multi30k: Path, quickstart: Path, into: Path) -> str:
    """Draws the pictures into the folder `gallery` of `into`; returns the Markdown that shows them.

    Raises:
      UserError: there is no such run, or its model has not the layers, heads and words that are shown.
    """
    runs = {"multi30k": _read(multi30k), "quickstart": _read(quickstart)}
    seen = {name: see(run, _SENTENCES[name], None) for name, run in runs.items()}
    (into / "gallery").mkdir(parents=True, exist_ok=True)
    sections = [_section(picture, runs[picture.run], seen[picture.run], into) for picture in _PICTURES]
    numerals = numerals_section(statistics(runs["quickstart"], "test"))
    command = _command(quickstart, ["--statistics"])
    sections.append(f"## Numerals of a whole test set\n\n{numerals}\n```\n{command}\n```\n")
    models = listed(_model(seen[name], run) for name, run in runs.items())
    return "\n".join([_INTRODUCTION + models, *sections])


def _read(workdir: Path) -> Run:
    return read_run(workdir, read_experiment(workdir, [], []))


def _command(workdir: Path, flags: Sequence[str]) -> str:
    return shlex.join(["python", "-m", "experiments.attention_maps", f"--workdir={workdir}", *flags])


def _model(seen: Seen, run: Run) -> str:
    """Which weights, and what they make of the sentence."""
    steps = ", ".join(map(str, run.weights.steps))
    return f"{seen.run}, mean of the checkpoints of steps {steps}, translates “{seen.sentence}” as “{seen.target}”"


def _section(picture: Picture, run: Run, seen: Seen, into: Path) -> str:
    flags = [f"--sentence={seen.sentence}", *picture.flags]
    view = view_of(attention_maps.parser().parse_args([f"--workdir={run.workdir}", *flags]), seen)
    (path,) = save(PICTURES[picture.file](seen, view), into / "gallery" / picture.name, ["png"])
    return (
        f"## {picture.title}\n\n![{picture.title}]({path.relative_to(into)})\n\n{_caption(seen, view)}\n\n"
        f"```\n{_command(run.workdir, flags)}\n```\n"
    )


def _caption(seen: Seen, view: View) -> str:
    """What is seen; of one word, what it looks at most."""
    layers = len(seen.stacks[view.stack].weights)
    text = f"{TITLES[view.stack].capitalize()}, layer {view.layer + 1} of {layers}, of {seen.run}."
    return text if view.rows is None else f"{text} The largest weights: {_largest(seen, view, view.rows)}."


def _largest(seen: Seen, view: View, rows: Sequence[int]) -> str:
    stack = seen.stacks[view.stack]
    found = []
    for head, row in itertools.product(view.heads, rows):
        weights = stack.weights[view.layer, head, row]
        at = int(weights.argmax())
        found.append(f"head {head + 1}: {stack.rows[row].label} → {stack.columns[at].label} {weights[at]:.2f}")
    return "; ".join(found)
