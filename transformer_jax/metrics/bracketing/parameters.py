"""EVALB's parameters: what of a tree is counted, and what counts as equal.

Published F1 scores mean EVALB's bracketing score (Sekine and Collins 1997) under the settings of a parameter file, of
which COLLINS.prm and its successor new.prm are the usual ones. The paper does not say which it used (section 6.3).
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from transformer_jax.errors import UserError


class ParameterFileError(UserError):
    """A parameter file that cannot be read, or a line of it that means nothing: the message names both."""


@dataclass(frozen=True)
class BracketingParameters:
    """The defaults are EVALB's own, those of a file that says nothing."""

    labeled: bool = True  # brackets match if their labels do, too
    max_errors: int = 10  # one error more is still counted, the next one stops the scoring
    cutoff_length: int = 40  # the second summary is of sentences with at most so many words
    deleted: frozenset[str] = frozenset()  # words with these tags, and brackets with these labels, are not counted
    deleted_for_length: frozenset[str] = frozenset()  # words with these tags are not counted in a sentence's length
    quote_labels: frozenset[str] = frozenset()  # tags between which a quote may be in dispute
    equal_labels: frozenset[tuple[str, str]] = frozenset()  # of brackets and of words; a pair holds both ways
    equal_words: frozenset[tuple[str, str]] = frozenset()

    def same_label(self, gold: str, test: str) -> bool:
        return _equal(gold, test, self.equal_labels)

    def same_word(self, gold: str, test: str) -> bool:
        return _equal(gold, test, self.equal_words)


# new.prm, whose MAX_ERROR is that of nk.prm: a parser that has only begun to train gets a summary too.
STANDARD = BracketingParameters(
    max_errors=10_000,
    deleted=frozenset({"TOP", "S1", "-NONE-", ",", ":", "``", "''", ".", "?", "!"}),
    deleted_for_length=frozenset({"-NONE-"}),
    quote_labels=frozenset({"``", "''", "POS", "NN", "CD", "VBZ", ":"}),
    equal_labels=frozenset({("ADVP", "PRT")}),
)


def read_parameters(path: Path) -> BracketingParameters:
    """The parameters of one of EVALB's .prm files.

    A line is a keyword and its values; one that starts with "#" is a comment. DEBUG is accepted and means nothing
    here. EVALB passes over a line that it does not understand; here such a line is an error.

    Raises:
        ParameterFileError: the file cannot be read, or a line has an unknown keyword or the wrong values.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterFileError(f"{path}: cannot be read: {error}") from error
    return parse_parameters(lines, name=str(path))


def parse_parameters(lines: Iterable[str], *, name: str) -> BracketingParameters:
    """As `read_parameters`, of the lines themselves; errors call them `name`."""
    parameters = BracketingParameters()
    for number, line in enumerate(lines, start=1):
        keyword, *values = line.split() or [""]
        if not keyword or line.startswith("#"):
            continue
        try:
            parameters = _with_line(parameters, keyword if line.startswith(keyword) else line, values)
        except ValueError as error:
            raise ParameterFileError(f"{name}, line {number}: {line.strip()!r}: {error}") from error
    return parameters


def _with_line(parameters: BracketingParameters, keyword: str, values: list[str]) -> BracketingParameters:
    changes: dict[str, Any] = {}
    if keyword in _SETTINGS:
        field, value_of = _SETTINGS[keyword]
        changes[field] = value_of(*_exactly(1, values))
    elif keyword in _SETS:
        field, size = _SETS[keyword]
        entry = tuple(_exactly(size, values))
        changes[field] = getattr(parameters, field) | {entry if size > 1 else entry[0]}
    elif keyword != "DEBUG":
        known = ", ".join((*_SETTINGS, *_SETS, "DEBUG"))
        raise ValueError(f"a line must start with one of {known}, or with #")
    return replace(parameters, **changes)


def _exactly(count: int, values: list[str]) -> list[str]:
    if len(values) != count:
        raise ValueError(f"{len(values)} values where there must be {count}")
    return values


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError("the value must be a whole number from 0 on")
    return int(text)


def _zero_or_one(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError("the value must be 0 or 1")
    return text == "1"


def _equal(one: str, other: str, pairs: Collection[tuple[str, str]]) -> bool:
    return one == other or (one, other) in pairs or (other, one) in pairs


_SETTINGS: dict[str, tuple[str, Callable[[str], int]]] = {
    "MAX_ERROR": ("max_errors", _count),
    "CUTOFF_LEN": ("cutoff_length", _count),
    "LABELED": ("labeled", _zero_or_one),
}
_SETS = {  # keyword: the field, and how many values make one entry
    "DELETE_LABEL": ("deleted", 1),
    "DELETE_LABEL_FOR_LENGTH": ("deleted_for_length", 1),
    "QUOTE_LABEL": ("quote_labels", 1),
    "EQ_LABEL": ("equal_labels", 2),
    "EQ_WORD": ("equal_words", 2),
}
