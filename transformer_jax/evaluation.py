"""How good a model is on one split: perplexity per piece, its translations against the raw references, and what the
search that found them tells about itself.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from transformer_jax import config
from transformer_jax.data.corpus import Corpus
from transformer_jax.data.encoded import EncodedCorpus
from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.decoding.forced import Forced, ForcedDecoder
from transformer_jax.decoding.generate import Generator, Hypothesis
from transformer_jax.decoding.length_limits import length_limits
from transformer_jax.decoding.pair_batches import Pair
from transformer_jax.decoding.parser import words_of
from transformer_jax.decoding.translator import Translation, Translator
from transformer_jax.decoding.tree_symbols import TreeSymbols
from transformer_jax.metrics.bleu import Score, corpus_bleu, corpus_chrf, exact_match, scoring_warnings
from transformer_jax.metrics.length_ratio import LengthRatio, length_ratio, length_ratios
from transformer_jax.model.transformer import Params, Transformer
from transformer_jax.special_ids import EOS_ID


@dataclass(frozen=True)
class SearchReport:
    """What became of a search. Lengths are in pieces, without end tokens."""

    errors: int  # see `search_errors`
    length_ratio: float | None  # of hypotheses to references, over all sentences; None: the references are empty
    length_ratios: list[LengthRatio]  # the same by the length of the source


@dataclass(frozen=True)
class Evaluation:
    """What one model does on one split."""

    perplexity: float  # per piece of this vocabulary, without smoothing; not comparable between vocabularies
    bleu: Score
    chrf: Score
    exact_match: float  # percent
    translations: list[Translation]
    search: SearchReport
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
    symbols: TreeSymbols | None = None,
) -> Evaluation:
    """Perplexity of the split's targets, then beam search from its sources, scored against its raw targets.

    One forced decoding of the targets gives both the perplexity and the scores that the search is held against.
    `on_progress` is told how many sentences are translated. `symbols` are needed where these have to be trees.

    Raises:
      SequenceTooLongError: a pair is longer than the model accepts; before anything is translated.
    """
    model = Transformer(experiment.model, vocabulary.size)
    pairs = [Pair(encoded.source(i).tolist(), encoded.target(i).tolist()) for i in range(len(encoded))]
    forced = ForcedDecoder(model, params, experiment.decoding).score(pairs)
    translator = Translator(Generator(model, params, experiment.decoding, symbols), vocabulary)
    words = [words_of(source) for source in corpus.sources]
    translations = translator.translate(corpus.sources, on_progress, words=words)
    hypotheses = [translation.text for translation in translations]
    tokenizer = experiment.scoring.bleu_tokenizer
    bleu = corpus_bleu(hypotheses, corpus.targets, tokenizer=tokenizer)
    return Evaluation(
        perplexity=perplexity(forced),
        bleu=bleu,
        chrf=corpus_chrf(hypotheses, corpus.targets),
        exact_match=exact_match(hypotheses, corpus.targets),
        translations=translations,
        search=search_report(experiment, encoded, [translation.hypothesis for translation in translations], forced),
        warnings=[*scoring_warnings(hypotheses, corpus.targets, tokenizer=tokenizer), *bleu.warnings],
    )


def perplexity(forced: Sequence[Forced]) -> float:
    """Of the tokens of given translations; of a model that has gone astray it may be infinite."""
    loss = -math.fsum(pair.log_prob for pair in forced) / sum(len(pair.token_log_probs) for pair in forced)
    return math.exp(loss) if loss < 700 else math.inf


def search_report(
    experiment: config.Experiment,
    encoded: EncodedCorpus,
    hypotheses: Sequence[Hypothesis],
    forced: Sequence[Forced],
) -> SearchReport:
    """Of the best hypothesis of each pair and its forced reference."""
    found = np.array([len(best.ids) for best in hypotheses])
    sources, references = encoded.source_lengths - 1, encoded.target_lengths - 1
    return SearchReport(
        errors=search_errors(experiment, encoded, hypotheses, forced),
        length_ratio=length_ratio(found, references),
        length_ratios=length_ratios(sources, found, references),
    )


def search_errors(
    experiment: config.Experiment,
    encoded: EncodedCorpus,
    hypotheses: Sequence[Hypothesis],
    forced: Sequence[Forced],
) -> int:
    """How many references score higher than what the search found, though their lengths are within its limits.

    The search has then missed a better hypothesis than its own; there may be others where it missed one that is no
    reference. A narrow beam errs, and so does a rule that stops the search before its bound does: more errors are to
    be expected of "beam_finished" and "first_finished". Samples are not the best by design.
    """
    limits = length_limits(encoded.source_lengths, experiment.decoding, longest=experiment.model.max_length)
    allowed = (encoded.target_lengths > limits.least) & (encoded.target_lengths <= limits.most)
    # Equal ones are scored by two programs, which round differently.
    return sum(
        forced[i].score > best.score and encoded.target(int(i)).tolist() != best.ids + [EOS_ID] * best.finished
        for i, best in enumerate(hypotheses)
        if allowed[i]
    )
