"""A tree drawn with characters: from the top down where it is no wider than asked for, else as an outline."""

from rich.cells import cell_len

from transformer_jax.trees.drawing.layout import Node, laid_out, shown
from transformer_jax.trees.tree import Tree

_GAP = 2
# By the directions of a crossing's arms: up, down, left, right.
_CROSSINGS = {"ud": "│", "udlr": "┼", "ulr": "┴", "dlr": "┬", "lr": "─", "dr": "┌", "dl": "┐", "ur": "└", "ul": "┘",
              "udr": "├", "udl": "┤"}  # fmt: skip


def text_drawing(tree: Tree, width: int) -> str:
    """The lines of a drawing, each with its end.

    An outline has a line for each constituent; leaves that have a constituent for themselves stand in its line.
    """
    root = laid_out(tree, cell_len, cell_len, _GAP)
    lines = _from_the_top(root) if root.width <= width else _outline(tree)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _from_the_top(root: Node) -> list[str]:
    """A constituent has two lines, its label and the way to its children; all tags stand in one line, above the words.

    Lines are lists of (column, text), later in order.
    """
    height = 2 * root.level + 2
    lines: list[list[tuple[int, str]]] = [[] for _ in range(height)]

    def put(line: int, node: Node, text: str) -> None:
        lines[line].append((node.centre - cell_len(text) // 2, text))

    for node in root.nodes():
        row = height - 2 - 2 * node.level
        put(row, node, node.label)
        if node.word is not None:
            put(row + 1, node, node.word)
            continue
        lines[row + 1].append((node.children[0].centre, _bar(node)))
        for child in node.children:
            for between in range(row + 2, height - 2 - 2 * child.level):
                put(between, child, "│")
    return [_joined(line) for line in lines]


def _bar(node: Node) -> str:
    """From the first child to the last."""
    first, last = (node.children[end].centre for end in (0, -1))
    below = {child.centre for child in node.children}

    def crossing(column: int) -> str:
        arms = {"u": column == node.centre, "d": column in below, "l": column > first, "r": column < last}
        return _CROSSINGS["".join(arm for arm, is_there in arms.items() if is_there)]

    return "".join(map(crossing, range(first, last + 1)))


def _joined(parts: list[tuple[int, str]]) -> str:
    line, end = "", 0
    for column, text in sorted(parts):
        line += " " * (column - end) + text
        end = column + cell_len(text)
    return line


def _outline(tree: Tree) -> list[str]:
    lines: list[str] = []
    waiting: list[tuple[Tree, str, str]] = [(tree, "", "")]  # with what stands before it, and before what is below it
    while waiting:
        tree, before, below = waiting.pop()
        if tree.is_leaf or all(child.is_leaf for child in tree.children):
            leaves = "  ".join(f"{shown(leaf.label)} {shown(str(leaf.word))}" for leaf in tree.leaves())
            lines.append(before + (leaves if tree.is_leaf else f"{shown(tree.label)} ─ {leaves}"))
            continue
        lines.append(before + shown(tree.label))
        *others, last = tree.children
        waiting.append((last, f"{below}└─ ", f"{below}   "))
        waiting.extend((child, f"{below}├─ ", f"{below}│  ") for child in reversed(others))
    return lines
