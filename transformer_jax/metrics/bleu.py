"""Translation quality through sacreBLEU (Post 2018), with the signature that makes a score comparable.

The paper (section 6.1) does not say how its BLEU was computed, and one output can differ by more than a point between
tokenisers. A score therefore never travels without its signature. Text is scored as it stands: references are the raw
lines of their file, and no tokenisation of ours touches them.

Tokeniser "none" is for text that is tokenised already, such as Multi30k's lower-cased files; it then equals multi-bleu
whenever every n-gram precision is above zero (sacreBLEU smooths those that are not).
"""

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sacrebleu.metrics import BLEU, CHRF

from transformer_jax.errors import UserError

BLEU_TOKENIZERS = tuple(BLEU.TOKENIZERS)

_SUBWORD_MARK = re.compile(r"@@(?= |$)|▁|(?<!\S)##\w")
_TOKENISATION_TRACE = re.compile(r" [.,](?= |$)|&(?:apos|quot|#\d+);| '(?:s|t|re|ve|ll|d|m)\b| n't\b", re.IGNORECASE)
_TOKENISED_SHARE = 0.1  # of the lines; fewer may be spelt so by their author


class ScoringError(UserError):
    """Texts that cannot be scored against each other, or a tokeniser that sacreBLEU does not have."""


@dataclass(frozen=True)
class Score:
    """One corpus score, 0 to 100, higher is better."""

    name: str
    value: float
    signature: str  # sacreBLEU's: every choice that moves the number, and its version
    detail: str = ""  # BLEU: n-gram precisions, brevity penalty, ratio and lengths
    warnings: tuple[str, ...] = ()  # what sacreBLEU had to say about the text


def corpus_bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, tokenizer: str, smoothing: str = "exp"
) -> Score:
    """Case-sensitive corpus BLEU against one reference a line; `tokenizer` and `smoothing` are sacreBLEU's names.

    Raises ScoringError for unequal counts, no lines at all, or an unknown tokeniser.
    """
    _check_texts(hypotheses, references)
    with _captured_warnings() as warnings:
        metric = bleu_metric(tokenizer, smoothing)
        result = metric.corpus_score(hypotheses, [references])
    precisions = "/".join(f"{precision:.1f}" for precision in result.precisions)
    detail = (
        f"{precisions} (BP = {result.bp:.3f} ratio = {result.ratio:.3f} "
        f"hyp_len = {result.sys_len} ref_len = {result.ref_len})"
    )
    return Score("BLEU", result.score, str(metric.get_signature()), detail, tuple(warnings))


def bleu_metric(tokenizer: str, smoothing: str = "exp") -> BLEU:
    """sacreBLEU's metric, whose tokeniser can be had: worth trying before hours of training and translating.

    Raises ScoringError if the tokeniser is unknown, or needs a package or a file that is not there.
    """
    _check_tokenizer(tokenizer)
    try:
        # "none" says that the text is tokenised
        return BLEU(tokenize=tokenizer, smooth_method=smoothing, force=tokenizer == "none")
    # Optional tokenisers import packages and download models; what fails there has no common base.
    except Exception as error:
        reason = " ".join((str(error).strip() or type(error).__name__).split())
        raise ScoringError(f"BLEU tokeniser {tokenizer!r} cannot be used: {reason}") from error


def corpus_chrf(hypotheses: Sequence[str], references: Sequence[str]) -> Score:
    """chrF2, the F-score of character n-grams (Popović 2015), which needs no tokeniser.

    Raises ScoringError for unequal counts or no lines at all.
    """
    _check_texts(hypotheses, references)
    with _captured_warnings() as warnings:
        metric = CHRF()
        result = metric.corpus_score(hypotheses, [references])
    return Score(result.name, result.score, str(metric.get_signature()), warnings=tuple(warnings))


def exact_match(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """The percentage of hypotheses that equal their references, blanks at both ends aside."""
    _check_texts(hypotheses, references)
    matches = sum(ours.strip() == theirs.strip() for ours, theirs in zip(hypotheses, references, strict=True))
    return 100.0 * matches / len(references)


def scoring_warnings(hypotheses: Sequence[str], references: Sequence[str], *, tokenizer: str) -> list[str]:
    """One sentence for each sign that the score will not mean what it seems to: subword marks, tokenised text.

    Such output costs many points of BLEU without any error. With tokeniser "none", text that is tokenised on both
    sides is in order; with any other, tokenised references are not what published scores are computed on.
    """
    _check_texts(hypotheses, references)
    _check_tokenizer(tokenizer)
    warnings = []
    marked = _lines_with(_SUBWORD_MARK, hypotheses)
    if marked:
        warnings.append(f"{_evidence(marked, hypotheses, 'hypotheses')} hold subword marks: join the pieces first")
    return warnings + _tokenisation_warnings(hypotheses, references, tokenizer)


def _tokenisation_warnings(hypotheses: Sequence[str], references: Sequence[str], tokenizer: str) -> list[str]:
    ours, theirs = _lines_with(_TOKENISATION_TRACE, hypotheses), _lines_with(_TOKENISATION_TRACE, references)
    if max(len(ours), len(theirs)) < _TOKENISED_SHARE * len(references):
        return []
    if len(theirs) < len(ours) / 2:
        evidence = _evidence(ours, hypotheses, "hypotheses")
        return [f"{evidence} look tokenised, the references do not: detokenise before scoring"]
    evidence = _evidence(theirs, references, "references")
    if len(ours) < len(theirs) / 2:
        return [f"{evidence} look tokenised, the hypotheses do not: score raw text against raw text"]
    if tokenizer != "none":
        return [f"{evidence} look tokenised: score raw text, or set the tokeniser to 'none'"]
    return []


def _check_texts(hypotheses: Sequence[str], references: Sequence[str]) -> None:
    if len(hypotheses) != len(references):
        raise ScoringError(f"{len(hypotheses)} hypotheses but {len(references)} references: counts must be equal")
    if not references:
        raise ScoringError("0 hypotheses and 0 references: there must be at least one line to score")


def _check_tokenizer(tokenizer: str) -> None:
    if tokenizer not in BLEU_TOKENIZERS:
        raise ScoringError(f"BLEU tokeniser {tokenizer!r}: must be one of {', '.join(map(repr, BLEU_TOKENIZERS))}")


def _lines_with(pattern: re.Pattern[str], lines: Sequence[str]) -> list[int]:
    return [index for index, line in enumerate(lines) if pattern.search(line)]


def _evidence(found: list[int], lines: Sequence[str], name: str) -> str:
    example = lines[found[0]]
    shortened = example if len(example) <= 80 else example[:79] + "…"
    return f"{len(found)} of {len(lines)} {name} (line {found[0] + 1}: {shortened!r})"


@contextmanager
def _captured_warnings() -> Iterator[list[str]]:
    """Gathers what sacreBLEU logs as a warning, which would otherwise go to wherever logs go, or nowhere."""
    messages: list[str] = []

    class Gather(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    handler, logger = Gather(logging.WARNING), logging.getLogger("sacrebleu")
    logger.addHandler(handler)
    try:
        yield messages
    finally:
        logger.removeHandler(handler)
