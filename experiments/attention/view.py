"""Which part of the attention is shown: a stack, a layer, heads, and perhaps one word."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import matplotlib
from matplotlib.colors import to_hex

from experiments.attention.pieces import Piece
from experiments.attention.run import AttentionError
from experiments.attention.seen import Seen

StackName = Literal["encoder", "decoder", "source"]
TITLES: dict[str, str] = {
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "source": "decoder attention over the source",
}


class View(NamedTuple):
    """Layers, heads and rows are counted from 0 here, and from 1 wherever people read."""

    stack: StackName
    layer: int
    heads: list[int]
    rows: list[int] | None  # the tokens of one word, which alone are shown; None: all


def add_flags(flags: ArgumentParser) -> None:
    group = flags.add_argument_group("what the pictures show, and the page at first")
    group.add_argument("--stack", choices=get_args(StackName), default="encoder")
    group.add_argument("--layer", type=int, help="from 1; the last if not given")
    group.add_argument("--heads", help="from 1, with commas between them; all if not given")
    group.add_argument("--word", help="only what this word looks at")


def view_of(args: Namespace, seen: Seen) -> View:
    """Raises AttentionError if there is no such layer, head or word."""
    stack = seen.stacks[args.stack]
    layers, heads, *_ = stack.weights.shape
    layer = layers if args.layer is None else _number("layer", str(args.layer), layers)
    wanted = range(1, heads + 1) if args.heads is None else {_number("heads", n, heads) for n in args.heads.split(",")}
    rows = None if args.word is None else rows_of(args.word, stack.rows)
    return View(args.stack, layer - 1, [head - 1 for head in sorted(wanted)], rows)


def _number(flag: str, text: str, most: int) -> int:
    if not (text.isdecimal() and 1 <= int(text) <= most):
        raise AttentionError(f"--{flag}={text}: must be from 1 to {most}")
    return int(text)


def rows_of(word: str, rows: Sequence[Piece]) -> list[int]:
    """The tokens of the first word that reads so, or else the first token that does.

    Raises:
      AttentionError: there is neither.
    """
    starts = [i for i, piece in enumerate(rows) if piece.kind != "part"]
    for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        if "".join(piece.text for piece in rows[start:end]) == word:
            return list(range(start, end))
    for i, piece in enumerate(rows):
        if piece.text == word:
            return [i]
    raise AttentionError(f"--word={word}: must be one of {' '.join(piece.label for piece in rows)}")


def head_colours(count: int) -> list[str]:
    """As many colours, told apart as well as so many can be."""
    if count <= 20:
        names = matplotlib.colormaps["tab10" if count <= 10 else "tab20"]
        return [to_hex(names(i)) for i in range(count)]
    circle = matplotlib.colormaps["hsv"]
    return [to_hex(circle(i / count)) for i in range(count)]
