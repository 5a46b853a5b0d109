"""How brackets and tags are written as tokens, section 6.3, and read again without doubt.

In the authors' code a constituent opens with its label and closes with "/" and its label, and between these a tag
stands for each word: "S NP NNP /NP VP VBZ /VP /S". What is a tag and what a label has to be known: here by a list of
the names that stand for words, the Penn Treebank's tags. Treebanks with these tags are written as in the authors' code.
Whatever else there may be in a tree is written with brackets, which no name holds:

    (NN      opens a constituent whose label is on the list, or begins with "/"
    (ART)    stands for a word by a name that is not on the list, or begins with "/"
"""

from collections.abc import Collection, Container
from typing import Literal, NamedTuple

from transformer_jax.trees.tree import is_name

Leaves = Literal["tags", "blanks", "words"]  # what stands for a word: its tag, XX, or itself
BLANK = "XX"

_NEWSPAPER_TAGS = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNP NNPS NNS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH "
    "VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB # $ '' `` , . : -LRB- -RRB- -NONE-"
)
_LATER_TAGS = "ADD AFX GW HYPH NFP XX"  # of biomedical and web text
PENN_TAGS = frozenset([*_NEWSPAPER_TAGS.split(), *_LATER_TAGS.split()])


class Symbol(NamedTuple):
    """What a token says."""

    kind: Literal["opening", "leaf", "closing"]
    name: str  # the label; of a leaf, what stands for the word


def leaf_names(leaves: Leaves, words: Collection[str]) -> Container[str]:
    """What is read as a leaf, where it stands without brackets, in the tree over `words`."""
    if leaves == "words":
        return frozenset(words)
    return PENN_TAGS if leaves == "tags" else (BLANK,)


def leaf_name(leaves: Leaves, tag: str, word: str) -> str:
    """What stands for a word."""
    return {"tags": tag, "blanks": BLANK, "words": word}[leaves]


def written(symbol: Symbol, leaf_names: Container[str]) -> str:
    """The token of a symbol, where `leaf_names` need no bracket to be read as leaves."""
    kind, name = symbol
    if kind == "closing":
        return f"/{name}"
    if name.startswith("/") or (name in leaf_names) != (kind == "leaf"):
        return f"({name})" if kind == "leaf" else f"({name}"
    return name


def read(token: str, leaf_names: Container[str]) -> Symbol | None:
    """What `written` wrote; None of a token that it never writes."""
    symbol = _read(token, leaf_names)
    return symbol if is_name(symbol.name) else None


def _read(token: str, leaf_names: Container[str]) -> Symbol:
    if token.startswith("/"):
        return Symbol("closing", token[1:])
    if token.startswith("(") and token.endswith(")"):
        return Symbol("leaf", token[1:-1])
    if token.startswith("("):
        return Symbol("opening", token[1:])
    return Symbol("leaf" if token in leaf_names else "opening", token)
