"""BLEU by the protocol of the paper's authors: a number to hold against Tables 2 and 3, and against no sacreBLEU score.

The paper (section 6.1) does not say how its BLEU was computed. Its authors' script, published in the same month, does:

    Unicode punctuation is replaced             “ by ", ’ by ', … by ..., as Moses does it
    Moses' tokeniser                            which also writes ' as &apos; and " as &quot;
    a hyphen inside a word becomes a token      E-Mail: E ##AT##-##AT## Mail
    multi-bleu                                  of these tokens, case-sensitive, not smoothed

sacreBLEU's own tokeniser leaves E-Mail whole. Split, it is three tokens, and half of it gives credit if it is right,
which has lifted German by a quarter of a point (newstest2013) to one and a half (newstest2014).

sacremoses is Moses as it was in June 2017, but that it sets Chinese characters apart. Since November 2018 Moses splits
the last full stop off every line, also after an abbreviation or a number: not what the script's authors had.
"""

import dataclasses
import importlib.metadata
import re
from collections.abc import Sequence

from sacremoses import MosesPunctNormalizer, MosesTokenizer

from transformer_jax.metrics.bleu import Score, corpus_bleu

NAME = "BLEU, paper's protocol"

_HYPHEN = re.compile(r"(\S)-(\S)")


def paper_bleu(hypotheses: Sequence[str], references: Sequence[str], *, language: str | None) -> Score:
    """Case-sensitive corpus BLEU of text in `language` ("de"), or of text that is Moses' tokens already (None).

    Tokens stay as they are, but for hyphens. Of a language that Moses has no abbreviations of, it takes English ones.
    Raises ScoringError for unequal counts or no lines at all.
    """
    ours, theirs = (paper_tokens(lines, language=language) for lines in (hypotheses, references))
    score = corpus_bleu(ours, theirs, tokenizer="none", smoothing="none")  # which is multi-bleu
    return dataclasses.replace(score, name=NAME, signature=_label(language))


def paper_tokens(lines: Sequence[str], *, language: str | None) -> list[str]:
    """What is scored: tokens with blanks between them."""
    if language is not None:
        replace, tokenise = MosesPunctNormalizer(language).replace_unicode_punct, MosesTokenizer(language).tokenize
        lines = [tokenise(replace(line), return_str=True) for line in lines]
    return [split_hyphens(line) for line in lines]


def split_hyphens(line: str) -> str:
    """Hyphens between two characters as tokens of their own.

    A character has one hyphen at most: in "a-b-c" the second stays, as it did in the script.
    """
    return _HYPHEN.sub(r"\1 ##AT##-##AT## \2", line)


def _label(language: str | None) -> str:
    """In words, so that nobody takes it for a signature of sacreBLEU's."""
    version = importlib.metadata.version("sacremoses")
    tokens = (
        "text tokenised before" if language is None
        else f"Unicode punctuation replaced, Moses tokens of {language!r} by sacremoses {version}"
    )  # fmt: skip
    return f"the paper's protocol, not sacreBLEU: {tokens}; hyphens split; multi-bleu, case-sensitive, not smoothed"
