"""Where each piece of a vocabulary stands in the text that they make together, whatever the kind of vocabulary."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

from transformer_jax.data.vocabulary import Vocabulary

Span = tuple[int, int]  # the first character, and the one after the last


def piece_spans(vocabulary: Vocabulary, ids: Sequence[int]) -> list[Span]:
    """Of each id, the part of `vocabulary.decode(ids)` that it adds, without blanks before it; special ones add none.

    A piece that starts a word has a blank before its part, or nothing.
    """
    text = vocabulary.decode(ids)
    ends = [min(len(vocabulary.decode(ids[:count])), len(text)) for count in range(len(ids) + 1)]
    ends = list(accumulate(ends, max))  # an escape that is decoded in part may be longer than the whole
    return [(end - len(text[start:end].lstrip()), end) for start, end in pairwise(ends)]
