"""Some rows of the test set, scored apart from the same translations.

WMT published newstest2014 English-German twice: scores are printed of 3,003 sentences, and of 2,737 of them.
"""

import dataclasses
from pathlib import Path
from typing import Any

from experiments.results import paper_bleu_entry
from transformer_jax.config import Experiment
from transformer_jax.data.corpus import Corpus, CorpusError
from transformer_jax.evaluation import Evaluation
from transformer_jax.metrics.bleu import corpus_bleu, corpus_chrf


def read_rows(experiment: Experiment, sentences: int) -> list[int]:
    """The rows that `Scoring.test_rows` names, of a test set of so many sentences; none if it names no file.

    Raises:
      CorpusError: the file cannot be read, or a line is not the number of a row, or of one that came before.
    """
    if experiment.scoring.test_rows is None:
        return []
    path = Path(experiment.data.directory).expanduser() / experiment.scoring.test_rows
    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror}") from error
    rows: dict[int, None] = {}
    for number, line in enumerate(lines, 1):
        if not line.isdecimal() or int(line) >= sentences or int(line) in rows:
            raise CorpusError(
                f"{path}, line {number}: {line!r} must be the number of a row, from 0 to {sentences - 1}, each once"
            )
        rows[int(line)] = None
    return list(rows)


def score_rows(experiment: Experiment, corpus: Corpus, evaluation: Evaluation) -> dict[str, Any]:
    """{"rows": their scores}, or nothing where no rows are to be scored."""
    rows = read_rows(experiment, len(corpus))
    if not rows:
        return {}
    hypotheses = [evaluation.translations[row].text for row in rows]
    references = [corpus.targets[row] for row in rows]
    bleu = corpus_bleu(hypotheses, references, tokenizer=experiment.scoring.bleu_tokenizer)
    return {
        "rows": {
            "file": experiment.scoring.test_rows,
            "sentences": len(rows),
            "bleu": dataclasses.asdict(bleu),
            **paper_bleu_entry(experiment, hypotheses, references),
            "chrf": dataclasses.asdict(corpus_chrf(hypotheses, references)),
        }
    }
