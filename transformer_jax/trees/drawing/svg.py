"""A tree drawn as a picture: one SVG file, which needs nothing else."""

from collections.abc import Iterator
from html import escape

from rich.cells import cell_len

from transformer_jax.trees.drawing.layout import Node, laid_out
from transformer_jax.trees.tree import Tree

_LABEL_SIZE, _TAG_SIZE, _WORD_SIZE = 15, 12, 17
_GAP, _MARGIN = 16, 20
_LEVEL, _LEAF = 46, 24  # from a label to its child's, from a tag to its word
_ABOVE, _BELOW = 17, 6  # a label's baseline: free of lines
_CORNER = 5
# Widths of letters, in sizes of the font, wide enough for the fonts that are named; the others have 0.58.
_NARROW, _WIDE = "fijlrtI.,:;'`|!()[]- ", "mwMW@%&"
_STYLE = f"""\
text {{ text-anchor: middle }}
.label {{ font: 600 {_LABEL_SIZE}px "Helvetica Neue", Helvetica, Arial, sans-serif; fill: #1f4e79 }}
.tag {{ font: {_TAG_SIZE}px "Helvetica Neue", Helvetica, Arial, sans-serif; fill: #667788 }}
.word {{ font: {_WORD_SIZE}px Georgia, "Times New Roman", Times, serif; fill: #111111 }}
path {{ fill: none; stroke: #9aa7b4; stroke-width: 1.3; stroke-linecap: round; stroke-linejoin: round }}"""


def svg_drawing(tree: Tree) -> str:
    """The text of a picture on white, as large as it needs to be; its title is the sentence."""
    root = laid_out(tree, lambda text: _width(text, _LABEL_SIZE), lambda text: _width(text, _WORD_SIZE), _GAP)
    width, height = root.width + 2 * _MARGIN, root.level * _LEVEL + _LABEL_SIZE + _LEAF + 2 * _MARGIN
    title = " ".join(str(node.word) for node in root.nodes() if node.word is not None)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{_STYLE}\n</style>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *_parts(root),
            "</svg>\n",
        ]
    )


def _width(text: str, size: int) -> int:
    """An estimate: which font a reader has is not known."""
    ems = (0.36 if one in _NARROW else 0.92 if one in _WIDE else 0.7 if one.isupper() else 0.58 * cell_len(one)
           for one in text)  # fmt: skip
    return round(size * sum(ems))


def _parts(root: Node) -> Iterator[str]:
    """Lines first, so that text is above them."""

    def baseline(node: Node) -> int:
        return _MARGIN + _LABEL_SIZE + (root.level - node.level) * _LEVEL

    for node in root.nodes():
        if node.word is None:
            yield f'<path d="{_lines(node, baseline(node), list(map(baseline, node.children)))}"/>'
    for node in root.nodes():
        kind = "label" if node.word is None else "tag"
        yield _text(node, baseline(node), kind, node.label)
        if node.word is not None:
            yield _text(node, baseline(node) + _LEAF, "word", node.word)


def _text(node: Node, y: int, kind: str, text: str) -> str:
    return f'<text x="{node.centre + _MARGIN}" y="{y}" class="{kind}">{escape(text)}</text>'


def _lines(node: Node, top: int, bottoms: list[int]) -> str:
    """Down from the label, across, and down to each child; round at the corners."""
    x, turn = node.centre + _MARGIN, top + _BELOW + (_LEVEL - _ABOVE - _BELOW) // 2
    drawn = [f"M{x} {top + _BELOW}V{turn}"]
    for child, bottom in zip(node.children, bottoms, strict=True):
        end = child.centre + _MARGIN
        corner = max(-_CORNER, min(_CORNER, end - x))
        to_the_side = f"H{end - corner}Q{end} {turn} {end} {turn + abs(corner)}" if corner else ""
        drawn.append(f"M{x} {turn}{to_the_side}V{bottom - _ABOVE}")
    return "".join(drawn)
