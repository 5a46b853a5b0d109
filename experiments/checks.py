"""What would fail only later, said before anything is made: before hours of training, before a workdir is claimed."""

from pathlib import Path

from experiments.rows import read_rows
from experiments.weights import param_shapes
from experiments.workdir import WorkdirError, read_experiment, read_vocabulary
from transformer_jax.config import Experiment
from transformer_jax.data.batching import BatchPlan
from transformer_jax.data.corpus import CorpusError
from transformer_jax.data.prepared import PreparedData
from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.metrics.bleu import bleu_metric
from transformer_jax.training.loop import batch_plan


def require_runnable(experiment: Experiment, data: PreparedData) -> BatchPlan:
    """The batches of a run that can be trained, evaluated and scored.

    Raises:
      CorpusError: no training pair is left, a sentence of another split is too long for the model, or the rows that
        are to be scored apart are not rows of the test set.
      ScoringError: the BLEU tokeniser cannot be used.
    """
    bleu_metric(experiment.scoring.bleu_tokenizer)
    read_rows(experiment, len(data.corpora["test"]))
    for split in ("dev", "test"):
        encoded = data.splits[split]
        longest = max(encoded.source_lengths.max(), encoded.target_lengths.max())
        if longest > experiment.model.max_length:
            raise CorpusError(
                f"{data.corpora[split].name}: a sentence has {longest} tokens, more than Model.max_length = "
                f"{experiment.model.max_length}"
            )
    return batch_plan(experiment, data.splits["train"])


def require_continuable(workdir: Path, experiment: Experiment, vocabulary: Vocabulary) -> None:
    """Some changes no run can go on with, accepted or not.

    Raises:
      WorkdirError: the run has parameters of other shapes, or another vocabulary.
    """
    if not (workdir / "config.gin").exists():
        return
    if param_shapes(experiment) != param_shapes(read_experiment(workdir, [], [])):
        raise WorkdirError(f"{workdir} has parameters of other shapes: choose another --workdir")
    if (workdir / "vocabulary.model").exists() and read_vocabulary(workdir).fingerprint != vocabulary.fingerprint:
        raise WorkdirError(f"{workdir} has another vocabulary: choose another --workdir")
