"""From a data config to everything that training needs: text, one vocabulary, ids. Each is made once and kept."""

import hashlib
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import sentencepiece

from transformer_jax.config import CorpusSource, Data
from transformer_jax.data.corpus import Corpus, read_corpus
from transformer_jax.data.encoded import EncodedCorpus, encode_corpus
from transformer_jax.data.vocabulary import Vocabulary, VocabularyError, learn_vocabulary

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class PreparedData:
    """The three splits as text (for references) and as ids, by the names "train", "dev" and "test"."""

    vocabulary: Vocabulary
    corpora: dict[str, Corpus]
    splits: dict[str, EncodedCorpus]


def prepare_data(data: Data) -> PreparedData:
    """Reads all splits, learns the vocabulary from the training split's two sides, and encodes.

    Raises:
        CorpusError: a split cannot be read.
        VocabularyError: the training text does not support `data.vocab_size` pieces.
    """
    corpora = {split: read_split(data, split) for split in SPLITS}
    vocabulary = _learn_once(corpora["train"], data.vocab_size, _cache(data))
    splits = {split: encode_corpus(corpus, vocabulary, _cache(data)) for split, corpus in corpora.items()}
    return PreparedData(vocabulary, corpora, splits)


def prepare_split(data: Data, vocabulary: Vocabulary, split: str) -> tuple[Corpus, EncodedCorpus]:
    """One split with a vocabulary that exists already: needs no training text.

    Raises:
        CorpusError: the split cannot be read.
    """
    corpus = read_split(data, split)
    return corpus, encode_corpus(corpus, vocabulary, _cache(data))


def read_split(data: Data, split: str) -> Corpus:
    """The text of "train", "dev" or "test"; raises CorpusError if it cannot be read."""
    if split not in SPLITS:
        raise ValueError(f"split {split!r}: must be one of {', '.join(SPLITS)}")
    source: CorpusSource = getattr(data, split)
    return read_corpus(
        source,
        directory=data.directory,
        source_language=data.source_language,
        target_language=data.target_language,
    )


def _cache(data: Data) -> Path:
    return Path(data.cache_directory).expanduser()


def _learn_once(corpus: Corpus, vocab_size: int, cache: Path) -> Vocabulary:
    """The vocabulary of `corpus`, from the cache where it is there and whole, else learned and cached."""
    key = "\n".join((corpus.fingerprint, str(vocab_size), sentencepiece.__version__))
    path = cache / f"vocabulary-{hashlib.sha256(key.encode()).hexdigest()[:24]}.model"
    try:
        vocabulary = Vocabulary.load(path)
        if vocabulary.size == vocab_size:
            return vocabulary
    except VocabularyError:
        pass  # never learned, or damaged: learned now
    vocabulary = learn_vocabulary(chain(corpus.sources, corpus.targets), vocab_size)
    vocabulary.save(path)
    return vocabulary
