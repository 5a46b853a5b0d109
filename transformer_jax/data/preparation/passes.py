"""The passes over a training corpus: text -> cleaned text -> vocabulary -> ids. Each goes on from where it was left."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int64

from transformer_jax.config import Cleaning, Data, Trees
from transformer_jax.data.corpus import CorpusError, Reading, read_pairs
from transformer_jax.data.preparation.cleaning import Report
from transformer_jax.data.preparation.duplicates import duplicates
from transformer_jax.data.preparation.encoding import encode_shards
from transformer_jax.data.preparation.sample import sampled_sentences
from transformer_jax.data.preparation.text_shards import num_pairs, read_digests, text_shards, write_text_shards
from transformer_jax.data.tree_inventory import INVENTORY, read_inventory
from transformer_jax.data.tree_pairs import tree_parts
from transformer_jax.data.vocabulary import make_vocabulary

VOCABULARY = "vocabulary.model"
Progress = Callable[[str, int, int | None], None]  # what is done, pairs done, of so many (None: not known yet)


def run_passes(
    data: Data, cleaning: Cleaning, trees: Trees, texts: Path, ready: Path, on_progress: Progress, *,
    pairs_per_shard: int,
) -> Report:  # fmt: skip
    """Fills the folder `ready` with the vocabulary and the shards of ids, by way of shards of text in `texts`.

    Of trees, their inventory is there too.

    Raises:
      CorpusError: the text cannot be read, or nothing of it is left.
      VocabularyError: the vocabulary cannot be read, or not be learned from the text.
    """

    def pairs_from(start: int) -> Iterator[tuple[str, str]]:
        return read_pairs(data.train, Reading.of(data, trees), start=start)

    report = write_text_shards(
        pairs_from,
        cleaning,
        texts,
        pairs_per_shard=pairs_per_shard,
        on_progress=lambda read: on_progress("reading", read, None),
    )
    shards = text_shards(texts)
    dropped = _without_duplicates(shards, cleaning, report, on_progress)
    if not report.kept:
        removed = ", ".join(f"{rule} {count}" for rule, count in report.removed.items())
        reason = f"no pair is left of {report.read}: {removed}" if report.read else "holds no sentence pairs"
        raise CorpusError(f"Data.train = {data.train!r}: {reason}")
    if tree_parts(data.train):
        on_progress("taking stock of the trees", 0, None)
        read_inventory(data.train, data.directory, trees).save(ready / INVENTORY)
    if not (ready / VOCABULARY).exists():
        on_progress("learning the vocabulary", 0, None)
        sentences = sampled_sentences(shards, dropped, data.vocab_sample)
        vocabulary = make_vocabulary(
            data.vocabulary,
            data.vocab_size,
            data.directory,
            sentences,
            merge_across_scripts=data.merge_across_scripts,
        )
        vocabulary.save(ready / VOCABULARY)
    encode_shards(shards, dropped, ready / VOCABULARY, ready, lambda done: on_progress("encoding", done, report.kept))
    return report


def _without_duplicates(
    shards: Sequence[Path], cleaning: Cleaning, report: Report, on_progress: Progress
) -> list[Int64[np.ndarray, " _"]]:
    """The rows of each shard that repeat earlier pairs, if these are to be left out; they are added to the report."""
    firsts = np.cumsum([0, *map(num_pairs, shards)])
    found = np.empty(0, np.int64)
    if cleaning.duplicate:
        on_progress("looking for duplicates", 0, int(firsts[-1]))
        found = duplicates([read_digests(shard) for shard in shards])
        report.removed["duplicate"] = len(found)
    cuts = np.searchsorted(found, firsts)
    return [found[cuts[k] : cuts[k + 1]] - firsts[k] for k in range(len(shards))]
