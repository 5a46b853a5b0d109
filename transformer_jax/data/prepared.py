"""From a config to everything that training and scoring need: text for references, one vocabulary, ids."""

from dataclasses import dataclass

from transformer_jax.config import Cleaning, CorpusSource, Data, Trees
from transformer_jax.data.corpus import Corpus, Reading, read_corpus
from transformer_jax.data.encoded import EncodedCorpus, encode_pairs
from transformer_jax.data.preparation.cleaning import Report
from transformer_jax.data.preparation.passes import Progress
from transformer_jax.data.preparation.training_data import prepare_training_data
from transformer_jax.data.tree_inventory import TreeInventory
from transformer_jax.data.vocabulary import Vocabulary

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class PreparedData:
    """What "train", "dev" and "test" are as ids, and "dev" and "test" as text too."""

    vocabulary: Vocabulary
    splits: dict[str, EncodedCorpus]
    corpora: dict[str, Corpus]
    report: Report  # of the training pairs that cleaning left out
    inventory: TreeInventory | None  # of the training trees; None: there are none


def prepare_data(data: Data, cleaning: Cleaning, trees: Trees, on_progress: Progress = lambda *_: None) -> PreparedData:
    """Reads dev and test, which are small, then prepares the training text or finds it prepared.

    Raises:
        CorpusError, TreeError: a split cannot be read, or no training pair is left.
        VocabularyError: the vocabulary cannot be read or learned.
        PreparedDataError: the prepared training text is damaged.
    """
    corpora = {split: read_split(data, trees, split) for split in ("dev", "test")}
    training = prepare_training_data(data, cleaning, trees, on_progress)
    encoded = {
        name: encode_pairs(corpus.sources, corpus.targets, training.vocabulary) for name, corpus in corpora.items()
    }
    splits = {"train": training.corpus, **encoded}
    return PreparedData(training.vocabulary, splits, corpora, training.report, training.inventory)


def prepare_split(data: Data, trees: Trees, vocabulary: Vocabulary, split: str) -> tuple[Corpus, EncodedCorpus]:
    """One split, whole and as it is, with a vocabulary that exists already: needs no training text.

    Raises:
        CorpusError, TreeError: the split cannot be read.
    """
    corpus = read_split(data, trees, split)
    return corpus, encode_pairs(corpus.sources, corpus.targets, vocabulary)


def read_split(data: Data, trees: Trees, split: str) -> Corpus:
    """The text of "train", "dev" or "test"; raises CorpusError or TreeError if it cannot be read."""
    if split not in SPLITS:
        raise ValueError(f"split {split!r}: must be one of {', '.join(SPLITS)}")
    source: CorpusSource = getattr(data, split)
    return read_corpus(source, Reading.of(data, trees))
