"""Some rows of the test set, scored apart from the same translations.

WMT published newstest2014 English-German twice: scores are printed of 3,003 sentences, and of 2,737 of them.
"""

import dataclasses
from typing import Any

from experiments.results import paper_bleu_entry
from experiments.rows import read_rows
from transformer_jax.config import Experiment
from transformer_jax.data.corpus import Corpus
from transformer_jax.evaluation import Evaluation
from transformer_jax.metrics.bleu import corpus_bleu, corpus_chrf


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
