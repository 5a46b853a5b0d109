"""The statistics of heads as Markdown."""

from collections.abc import Iterator
from typing import Any

from experiments.attention.view import TITLES
from experiments.markdown import listed, table

_MARKED = {"encoder": "on the end", "decoder": "on the begin", "source": "on the end"}
_MEASURES = (
    "entropy: of the weights of a query, in nats; 0 of one position alone, log n of n alike",
    "distance: |i - j| between query and memory position, weighted",
    "diagonal: the weight within one position of the line from corner to corner; within one word of its own place, in "
    "self-attention",
    "on the end: the weight on the end token; the decoder reads none, and has its begin token there",
)
_NUMERAL_MEASURES = (
    "unit, tens: where the target says that word, the head's largest weight is on the same word of the source",
    "reversed: both, so that the head turns round with the language",
    "in order: the head looks at the source's first word where the target says its first, and at the second then",
)


def markdown(entries: dict[str, Any]) -> str:
    """A chapter a split. Layers and heads are counted from 1."""
    return "# Attention, head by head\n\n" + listed(_MEASURES) + "".join(map(_chapter, entries.items()))


def _chapter(split: tuple[str, dict[str, Any]]) -> str:
    name, entry = split
    parts = [
        f"\n## {name}\n\n{entry['sentences']:,} sentence pairs of {entry['corpus']}, each target read as it stands; "
        f"means over all tokens.\n"
    ]
    if entry["left_out_as_too_long"]:
        parts.append(f"{entry['left_out_as_too_long']:,} pairs are longer than the model's max_length: left out.\n")
    for stack, title in TITLES.items():
        head = ["layer.head", "entropy", "distance", "diagonal", _MARKED[stack]]
        parts.append(f"\n### {title}\n\n{table(head, _rows(entry[stack], *_FIELDS))}")
    if entry["numerals"]["said"]:
        parts.append(f"\n### numerals\n\n{numerals_section(entry)}")
    return "".join(parts)


_FIELDS = ("entropy", "distance", "diagonality", "marked")


def numerals_section(entry: dict[str, Any]) -> str:
    """Of one split's entry, whether the heads over the source turn round in numerals."""
    found = entry["numerals"]
    text = (
        "From 21 to 99, German says the unit before the tens, English after them. The targets say "
        f"{found['said']:,} such numerals in words; in {found['counted']:,}, both have pieces of their own.\n\n"
    )
    if not found["counted"]:
        return text
    shares = ("unit", "tens", "reversed", "in_order")
    rows = ([name, *(f"{100 * float(value):.0f} %" for value in values)] for name, *values in _rows(found, *shares))
    return f"{text}{listed(_NUMERAL_MEASURES)}\n{table(['layer.head', 'unit', 'tens', 'reversed', 'in order'], rows)}"


def _rows(of_heads: dict[str, Any], *fields: str) -> Iterator[list[str]]:
    """A row a head: "layer.head" and its values."""
    for layer, heads in enumerate(of_heads[fields[0]], 1):
        for head in range(len(heads)):
            yield [f"{layer}.{head + 1}", *(f"{of_heads[field][layer - 1][head]:.3f}" for field in fields)]
