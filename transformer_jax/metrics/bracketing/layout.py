"""A bracketing score written as EVALB writes it, so that the two can be compared as text."""

from collections.abc import Iterator

from transformer_jax.metrics.bracketing.score import BracketingScore, Counts, SentenceScore, Summary

_HEADER = """\
  Sent.                        Matched  Bracket   Cross        Correct Tag
 ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy"""
_RULE = "=" * 76


def evalb_text(score: BracketingScore) -> str:
    """The rows and, unless errors stopped the scoring, the sums and both summaries; each line ends with "\\n"."""
    return "".join(f"{line}\n" for line in _lines(score))


def _lines(score: BracketingScore) -> Iterator[str]:
    yield from (_HEADER, _RULE)
    yield from (_row(number, row) for number, row in enumerate(score.rows, start=1))
    if score.stopped:
        return
    yield from (_RULE, _sums(score.all.counts), "=== Summary ===")
    for title, summary in (("All", score.all), (f"len<={score.cutoff_length}", score.short)):
        yield from ("", f"-- {title} --")
        yield from (f"{name:<26}= {value:>6}" for name, value in _summary_values(summary))


def _row(number: int, row: SentenceScore) -> str:
    counts = row.counts
    return (
        f"{number:4}  {row.length:3}    {row.status:d}  {counts.recall:6.2f} {counts.precision:6.2f}"
        f"   {counts.matched:3}    {counts.gold:3}  {counts.test:3}    {counts.crossing:3}"
        f"    {counts.words:3}   {counts.correct_tags:3}   {counts.tagging_accuracy:6.2f}"
    )


def _sums(counts: Counts) -> str:
    tags = f"{counts.words:5} {counts.correct_tags:5}   {counts.tagging_accuracy:6.2f}"
    if not (counts.gold and counts.test):
        return f"  {tags}"
    return (
        f"                {counts.recall:6.2f} {counts.precision:6.2f} {counts.matched:6} {counts.gold:5} "
        f"{counts.test:5}  {counts.crossing:5}  {tags}"
    )


def _summary_values(summary: Summary) -> list[tuple[str, str]]:
    counts = summary.counts
    return [
        ("Number of sentence", str(summary.sentences)),
        ("Number of Error sentence", str(summary.errors)),
        ("Number of Skip  sentence", str(summary.skipped)),
        ("Number of Valid sentence", str(summary.valid)),
        ("Bracketing Recall", f"{counts.recall:.2f}"),
        ("Bracketing Precision", f"{counts.precision:.2f}"),
        ("Bracketing FMeasure", f"{counts.f1:.2f}" if counts.matched else "-nan"),
        ("Complete match", f"{summary.complete_match:.2f}"),
        ("Average crossing", f"{summary.average_crossing:.2f}"),
        ("No crossing", f"{summary.no_crossing_share:.2f}"),
        ("2 or less crossing", f"{summary.two_or_less_crossing_share:.2f}"),
        ("Tagging accuracy", f"{counts.tagging_accuracy:.2f}"),
    ]
