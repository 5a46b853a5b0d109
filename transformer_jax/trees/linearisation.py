"""A tree as a sequence of tokens, the target of section 6.3, and back: exact for every tree.

"John has a dog ." is, by what stands for a word:

    tags    S NP NNP /NP VP VBZ NP DT NN /NP /VP . /S              (the authors' code)
    blanks  S NP XX /NP VP XX NP XX XX /NP /VP XX /S               (Vinyals et al. 2014)
    words   S NP John /NP VP has NP a dog /NP /VP . /S

`symbols` says how the other cases are written, a label that is a tag too, say.
"""

from collections.abc import Callable, Iterable, Sequence

from transformer_jax.trees.repair import blank_tag, repaired
from transformer_jax.trees.symbols import Leaves, Symbol, leaf_name, leaf_names, written
from transformer_jax.trees.tree import Tree, TreeError


def linearised(tree: Tree, leaves: Leaves = "tags") -> list[str]:
    """The tokens of a tree.

    Raises:
        TreeError: a bracket has no label: `cleaning` removes the outer one.
    """
    names = leaf_names(leaves, tree.words())
    tokens = []
    for kind, part in tree.walk():
        name = part.label if part.word is None else leaf_name(leaves, part.label, part.word)
        if not name:
            raise TreeError("a bracket without a label cannot be written as a token")
        tokens.append(written(Symbol(kind, name), names))
    return tokens


def delinearised(
    tokens: Iterable[str], words: Sequence[str], leaves: Leaves = "tags", tag_of: Callable[[str], str] = blank_tag
) -> Tree:
    """The tree over `words` that the tokens say.

    Args:
      tag_of: gives a word its tag, where the tokens do not say it.

    Raises:
        TreeError: they say no tree over these words; `repair` makes one of them.
    """
    tree, repairs = repaired(tokens, words, leaves, tag_of)
    if repairs:
        needed = ", ".join(f"{count} {repair}" for repair, count in repairs.items())
        raise TreeError(f"the tokens are no tree over these {len(words)} words: it would need {needed}")
    return tree
