"""EVALB's bracketing score of parsed sentences: a row for each, and their sums.

    recall = matched / gold brackets    precision = matched / test brackets    F1 = 2 recall precision / (their sum)

A bracket is matched if the other side has one with the same words and the same label, one for one.
"""

import enum
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from transformer_jax.errors import UserError
from transformer_jax.metrics.bracketing.brackets import Bracket, counted_pair, length, sentence
from transformer_jax.metrics.bracketing.parameters import STANDARD, BracketingParameters
from transformer_jax.trees.tree import Tree


class BracketingError(UserError):
    """Trees that cannot be scored against each other."""


class Status(enum.IntEnum):
    VALID = 0
    ERROR = 1  # the two sides have different words
    SKIPPED = 2  # the test side has no words


@dataclass(frozen=True)
class Counts:
    """Of one sentence, or summed; all are 0 for one that is not valid."""

    matched: int = 0
    gold: int = 0
    test: int = 0
    crossing: int = 0  # brackets of the test side that cross one of the gold side
    words: int = 0
    correct_tags: int = 0

    @property
    def recall(self) -> float:
        return _percent(self.matched, self.gold)

    @property
    def precision(self) -> float:
        return _percent(self.matched, self.test)

    @property
    def f1(self) -> float:
        """0 where nothing matches; EVALB divides 0 by 0 there."""
        total = self.recall + self.precision
        return 2 * self.recall * self.precision / total if total else 0.0

    @property
    def tagging_accuracy(self) -> float:
        return _percent(self.correct_tags, self.words)


@dataclass(frozen=True)
class SentenceScore:
    length: int  # of the gold sentence
    status: Status
    counts: Counts = Counts()


@dataclass(frozen=True)
class Summary:
    """Sums over sentences; the percentages are of the valid ones."""

    sentences: int
    errors: int
    skipped: int
    counts: Counts
    complete: int  # sentences whose brackets all match, both ways
    no_crossing: int
    two_or_less_crossing: int

    @property
    def valid(self) -> int:
        return self.sentences - self.errors - self.skipped

    @property
    def complete_match(self) -> float:
        return _percent(self.complete, self.valid)

    @property
    def average_crossing(self) -> float:
        return self.counts.crossing / self.valid if self.valid else 0.0

    @property
    def no_crossing_share(self) -> float:
        return _percent(self.no_crossing, self.valid)

    @property
    def two_or_less_crossing_share(self) -> float:
        return _percent(self.two_or_less_crossing, self.valid)


@dataclass(frozen=True)
class BracketingScore:
    """Rows in the order of sentences; if errors stopped the scoring, up to the one before the last error."""

    rows: tuple[SentenceScore, ...]
    cutoff_length: int
    stopped: bool = False

    @property
    def all(self) -> Summary:
        return summary(self.rows)

    @property
    def short(self) -> Summary:
        """Of the sentences up to the cut-off length."""
        return summary([row for row in self.rows if row.length <= self.cutoff_length])


def bracketing_score(
    gold: Sequence[Sequence[Tree]], test: Sequence[Sequence[Tree]], parameters: BracketingParameters = STANDARD
) -> BracketingScore:
    """The score of `test` against `gold`: a sequence of trees for each sentence, as a rule of one.

    Raises:
        BracketingError: the numbers of sentences differ.
    """
    if len(gold) != len(test):
        raise BracketingError(f"{len(gold)} gold sentences but {len(test)} parsed ones: counts must be equal")
    rows: list[SentenceScore] = []
    errors = 0
    for gold_trees, test_trees in zip(gold, test, strict=True):
        row = sentence_score(gold_trees, test_trees, parameters)
        errors += row.status is Status.ERROR
        if errors > parameters.max_errors + 1:
            return BracketingScore(tuple(rows), parameters.cutoff_length, stopped=True)
        rows.append(row)
    return BracketingScore(tuple(rows), parameters.cutoff_length)


def sentence_score(
    gold_trees: Sequence[Tree], test_trees: Sequence[Tree], parameters: BracketingParameters = STANDARD
) -> SentenceScore:
    whole = sentence(gold_trees)
    gold, test = counted_pair(whole, sentence(test_trees), parameters)
    words = length(whole, parameters)
    if not test.words:
        return SentenceScore(words, Status.SKIPPED)
    pairs = list(zip(gold.words, test.words, strict=False))
    if len(gold.words) != len(test.words) or not all(parameters.same_word(a.text, b.text) for a, b in pairs):
        return SentenceScore(words, Status.ERROR)
    counts = Counts(
        _matched(gold.brackets, test.brackets, parameters),
        len(gold.brackets),
        len(test.brackets),
        _crossing(gold.brackets, test.brackets),
        len(gold.words),
        sum(parameters.same_label(a.tag, b.tag) for a, b in pairs),
    )
    return SentenceScore(words, Status.VALID, counts)


def summary(rows: Iterable[SentenceScore]) -> Summary:
    rows = list(rows)
    valid = [row.counts for row in rows if row.status is Status.VALID]
    columns = ("matched", "gold", "test", "crossing", "words", "correct_tags")
    return Summary(
        len(rows),
        sum(row.status is Status.ERROR for row in rows),
        sum(row.status is Status.SKIPPED for row in rows),
        Counts(**{column: sum(getattr(counts, column) for counts in valid) for column in columns}),
        sum(counts.matched == counts.gold == counts.test for counts in valid),
        sum(counts.crossing == 0 for counts in valid),
        sum(counts.crossing <= 2 for counts in valid),
    )


def _matched(gold: list[Bracket], test: list[Bracket], parameters: BracketingParameters) -> int:
    """In the order in which they open, each gold bracket takes the first test bracket that is left and fits."""
    left: dict[tuple[int, int], list[str]] = defaultdict(list)
    for label, start, end in test:
        left[start, end].append(label)
    matched = 0
    for label, start, end in gold:
        labels = left[start, end]
        fitting = next((i for i, other in enumerate(labels) if _fit(label, other, parameters)), None)
        if fitting is not None:
            labels.pop(fitting)
            matched += 1
    return matched


def _crossing(gold: list[Bracket], test: list[Bracket]) -> int:
    """Test brackets that overlap a gold bracket where neither holds the other."""
    return sum(any(a < c < b < d or c < a < d < b for _, c, d in gold) for _, a, b in test)


def _fit(gold: str, test: str, parameters: BracketingParameters) -> bool:
    return not parameters.labeled or parameters.same_label(gold, test)


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0
