"""How good a model is on one split: perplexity per piece, and its translations against the raw references."""

from collections.abc import Callable
from dataclasses import dataclass

from transformer_jax import config, parallel
from transformer_jax.data.corpus import Corpus
from transformer_jax.data.encoded import EncodedCorpus
from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.decoding.generate import Generator
from transformer_jax.decoding.translator import Translation, Translator
from transformer_jax.metrics.bleu import Score, corpus_bleu, corpus_chrf, exact_match, scoring_warnings
from transformer_jax.model.transformer import Transformer
from transformer_jax.training.dev_loss import dev_loss
from transformer_jax.training.step import Params


@dataclass(frozen=True)
class Evaluation:
    """What one model does on one split."""

    perplexity: float  # per piece of this vocabulary, without smoothing; not comparable between vocabularies
    bleu: Score
    chrf: Score
    exact_match: float  # percent
    translations: list[Translation]
    warnings: list[str]  # one line each; the score may not mean what it seems to

    @property
    def cut_off(self) -> int:
        """Translations that reached the length limit without an end token."""
        return sum(not translation.hypothesis.finished for translation in self.translations)


def evaluate(
    experiment: config.Experiment,
    params: Params,
    vocabulary: Vocabulary,
    corpus: Corpus,
    encoded: EncodedCorpus,
    on_progress: Callable[[int], None],
) -> Evaluation:
    """Perplexity of the split's targets, then beam search from its sources, scored against its raw targets.

    `on_progress` is told how many sentences are translated.
    """
    model = Transformer(experiment.model, vocabulary.size)
    perplexity = dev_loss(model, encoded, experiment.batching)(parallel.replicate(params))["perplexity"]
    translator = Translator(Generator(model, params, experiment.decoding), vocabulary)
    translations = translator.translate(corpus.sources, on_progress)
    hypotheses = [translation.text for translation in translations]
    tokenizer = experiment.scoring.bleu_tokenizer
    bleu = corpus_bleu(hypotheses, corpus.targets, tokenizer=tokenizer)
    chrf = corpus_chrf(hypotheses, corpus.targets)
    warnings = [*scoring_warnings(hypotheses, corpus.targets, tokenizer=tokenizer), *bleu.warnings]
    return Evaluation(perplexity, bleu, chrf, exact_match(hypotheses, corpus.targets), translations, warnings)
