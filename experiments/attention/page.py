"""The page: one HTML file, which needs neither network nor other files."""

import json
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
from jaxtyping import Float32

from experiments.attention.seen import Seen, Stack
from experiments.attention.view import TITLES, View, head_colours

_LOOKING = {
    "encoder": ("source", "source"),
    "decoder": ("target, as far as it is read", "target, as far as it is read"),
    "source": ("target, the token that is written next", "source"),
}
_PLACES = 3  # of weights, as in svg.js
_SCRIPTS = ("svg.js", "lines.js", "heat_map.js", "page.js")


def page(seen: Seen, view: View) -> str:
    """The whole text; `view` is what it shows at first."""
    parts = {
        "TITLE": escape(f"attention of {seen.run}"),
        "STYLE": _file("page.css"),
        "SCRIPT": "\n".join(map(_file, _SCRIPTS)),
        "DATA": script_json(_data(seen, view)),
    }
    text = _file("page.html")
    for name, part in parts.items():  # the data is put in last: nothing in it is taken for a place
        text = text.replace(f"[[{name}]]", part)
    return text


def script_json(data: Any) -> str:
    """JSON that stays what it is inside a script element: ASCII, without what could end it or begin a comment."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _file(name: str) -> str:
    return (files("experiments.attention") / name).read_text(encoding="utf-8")


def _data(seen: Seen, view: View) -> dict[str, Any]:
    heads = next(iter(seen.stacks.values())).weights.shape[1]
    return {
        "run": seen.run,
        "sentence": seen.sentence,
        "target": seen.target,
        "given": seen.given,
        "stacks": {name: _stack(name, stack) for name, stack in seen.stacks.items()},
        "colours": head_colours(heads),
        "view": view._asdict(),
    }


def _stack(name: str, stack: Stack) -> dict[str, Any]:
    rows, columns = _LOOKING[name]
    return {
        "title": TITLES[name],
        "rowsTitle": rows,
        "columnsTitle": columns,
        "rows": stack.rows,
        "columns": stack.columns,
        "weights": [[_rounded(head) for head in layer] for layer in stack.weights],
    }


def _rounded(weights: Float32[np.ndarray, "Q M"]) -> list[list[float]]:
    """To the places that the page shows; a 0, as most weights are then, takes one character."""
    rounded = np.round(weights.astype(np.float64), _PLACES).tolist()
    return [[value or 0 for value in row] for row in rounded]
