"""Two runs' scores side by side, and what tests of their difference say."""

from collections.abc import Callable, Iterator
from typing import Any

from experiments.comparison.paired_tests import SIGNIFICANT, Tested, paired_tests
from experiments.comparison.run import ComparedRun
from experiments.comparison.scored_text import ScoredText, TextsOfSplit
from experiments.comparison.settings import different_vocabularies
from experiments.markdown import listed, table

_SCORES: dict[str, tuple[Callable[[dict[str, Any]], float], int]] = {
    "BLEU": (lambda entry: entry["bleu"]["value"], 2),
    "chrF2": (lambda entry: entry["chrf"]["value"], 2),
    "exact match, %": (lambda entry: entry["exact_match_percent"], 1),
    "perplexity per piece": (lambda entry: entry["perplexity_per_piece"], 3),
}
_MEANING = (
    "The tests are of these two trained models on other sentences of the kind, not of other seeds: training either "
    "again with another seed may move its score as much."
)


def scores_section(a: ComparedRun, b: ComparedRun) -> str:
    """The scores that there are, as Markdown, with their signatures; "" where neither run has any."""
    entries = {run.label: run.entry for run in (a, b) if run.entry}
    if not entries:
        return ""
    either = next(iter(entries.values()))
    rows = [[name, *_cells(a.entry, b.entry, *score)] for name, score in _SCORES.items()]
    head = f"{either['sentences']:,} sentences of {either['corpus']}"
    pieces = "perplexities are of the pieces of two vocabularies and cannot be compared"
    notes = [*_notes(entries), *([pieces] if len(entries) > 1 and different_vocabularies(a, b) else [])]
    return f"{head}\n\n{table([a.split, 'A', 'B', 'B − A'], rows)}\n{listed(notes)}"


def _cells(
    ours: dict[str, Any] | None, theirs: dict[str, Any] | None, score: Callable[[dict[str, Any]], float], digits: int
) -> list[str]:
    one, other = (score(entry) if entry else None for entry in (ours, theirs))
    shown = ["" if value is None else f"{value:.{digits}f}" for value in (one, other)]
    return [*shown, "" if one is None or other is None else f"{other - one:+z.{digits}f}"]


def _notes(entries: dict[str, dict[str, Any]]) -> Iterator[str]:
    either = next(iter(entries.values()))
    yield from (f"{either[metric]['name']}: `{either[metric]['signature']}`" for metric in ("bleu", "chrf"))
    for label, entry in entries.items():
        steps = ", ".join(map(str, entry["checkpoint_steps"]))
        yield f"{label}: BLEU {entry['bleu']['value']:.2f} {entry['bleu']['detail']}; weights of steps {steps}"
        yield from (f"{label}: WARNING: {warning}" for warning in entry["warnings"])


def same_translations(a: ComparedRun, b: ComparedRun) -> str:
    """What is to be said of runs whose translations are all the same: there is nothing to test."""
    differing = [
        name for name, (score, _) in _SCORES.items() if a.entry and b.entry and score(a.entry) != score(b.entry)
    ]
    if differing:
        return f"A and B translate every sentence alike; what differs is {', '.join(differing)}. Nothing to test.\n"
    return "A and B are identical on this split: the same translations, the same scores. Nothing to test.\n"


def tests_section(a: ScoredText, b: ScoredText, texts: TextsOfSplit) -> str:
    """The tests of the difference in BLEU, as Markdown, and the verdict in words."""
    statistics = (a.statistics, b.statistics)
    tested = paired_tests(a.translations, b.translations, texts.corpus.targets, statistics, tokenizer=a.tokenizer)
    rows = [[name, f"{p_value:.4f}"] for name, p_value in tested.p_values.items()]
    return (
        f"{verdict(tested)}\n\n{table(['test', 'p'], rows)}\n"
        f"{listed([_interval(tested), *(f'`{signature}`, sacreBLEU' for signature in tested.signatures), _MEANING])}"
    )


def verdict(tested: Tested) -> str:
    """By the largest p-value."""
    p_value = f"p = {tested.p_value:.4f}"
    if tested.better is None:
        return f"A and B cannot be told apart by BLEU ({p_value}, above {SIGNIFICANT})."
    worse = "A" if tested.better == "B" else "B"
    return f"{tested.better} is better than {worse} by {abs(tested.difference.value):.2f} BLEU ({p_value})."


def _interval(tested: Tested) -> str:
    difference = tested.difference
    if difference.low is None or difference.high is None:
        return f"B − A: {difference.value:+z.2f} BLEU"
    return f"B − A: {difference.value:+z.2f} BLEU, 95 % interval {difference.low:+z.2f} to {difference.high:+z.2f}"
