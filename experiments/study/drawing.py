"""What the pictures of a sweep share: colours, a titled figure, names over several lines."""

import re
import textwrap

from matplotlib.axes import Axes
from matplotlib.figure import Figure

BLUE, ORANGE = "#0072B2", "#D55E00"  # told apart without red and green: Okabe and Ito
CHARACTER, LINE = 0.08, 0.17  # of 9 point text, in inches


def empty(title: str, width: float, height: float, left: float, bottom: float) -> tuple[Figure, Axes]:
    """A figure with a title, and room below it; in inches."""
    drawn = Figure(figsize=(width, height), dpi=100)
    drawn.suptitle(wrapped(title, round(12 * width)), x=0.15 / width, ha="left", fontsize=10, parse_math=False)
    box = (left / width, bottom / height, 1 - (left + 0.3) / width, 1 - (bottom + 1) / height)
    return drawn, drawn.add_axes(box)


def wrapped(text: str, width: int) -> str:
    return "\n".join(textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False))


def parted(text: str) -> str:
    """Over lines: after a setting's "Model.", and between settings that are chosen together."""
    parts = re.sub(r"^[A-Z]\w*\.|, (?=[a-z])", r"\g<0>\n", text).split("\n")
    return "\n".join(wrapped(part, 20) for part in parts)


def html(text: str) -> str:
    return text.replace("\n", "<br>")
