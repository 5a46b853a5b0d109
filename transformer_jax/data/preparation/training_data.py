"""A training corpus made ready, once, and found ready by every run with the same text, rules and vocabulary.

What is made lies in the cache, in a folder named after what it was made of. Memory does not grow with the corpus, but
for some bytes a pair. A preparation that was killed at any moment goes on from there, and ends with the same bytes.
"""

import hashlib
import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from transformer_jax.config import Cleaning, Data, Trees
from transformer_jax.data.corpus import Reading, source_identity
from transformer_jax.data.encoded import EncodedCorpus, Sequences
from transformer_jax.data.preparation.cleaning import Report
from transformer_jax.data.preparation.encoding import SIDES
from transformer_jax.data.preparation.passes import VOCABULARY, Progress, run_passes
from transformer_jax.data.ragged import Ragged
from transformer_jax.data.tree_inventory import INVENTORY, TreeInventory, load_inventory
from transformer_jax.data.vocabulary import Vocabulary, load_vocabulary, vocabulary_identity
from transformer_jax.errors import UserError
from transformer_jax.file_checksums import find_damage, keep_checksums
from transformer_jax.lock import waited_for

_FORMAT = 2  # of what is made: another one, another name
_MANIFEST = "manifest.json"
PAIRS_PER_SHARD = 250_000


class PreparedDataError(UserError):
    """Prepared data that cannot be used: the message names the file and says what to do."""


@dataclass(frozen=True)
class TrainingData:
    """The ids of a cleaned training corpus, the vocabulary that gives them, what cleaning left out; of trees, more."""

    vocabulary: Vocabulary
    corpus: EncodedCorpus
    report: Report
    inventory: TreeInventory | None  # None: nothing of it are trees


def prepare_training_data(
    data: Data, cleaning: Cleaning, trees: Trees, on_progress: Progress, *, pairs_per_shard: int = PAIRS_PER_SHARD
) -> TrainingData:
    """What the cache has, once its checksums have been found right, or else what is made now and cached.

    Raises:
      CorpusError, TreeError: the text cannot be read, or nothing of it is left.
      VocabularyError: the vocabulary cannot be read, or not be learned from the text.
      PreparedDataError: what the cache has is damaged.
    """
    made_of = _made_of(data, cleaning, trees, pairs_per_shard)
    key = hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:24]
    cache = Path(data.cache_directory).expanduser()
    folder, work = cache / f"training-{key}", cache / f".training-{key}"
    if not folder.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with waited_for(cache / f".training-{key}.lock"):
            if not folder.exists():  # another process may have made it meanwhile
                _make(data, cleaning, trees, made_of, folder, work, on_progress)
    shutil.rmtree(work, ignore_errors=True)  # the text, which no one needs any more
    return _load(folder, on_progress)


def _made_of(data: Data, cleaning: Cleaning, trees: Trees, pairs_per_shard: int) -> dict[str, Any]:
    """All that the result depends on."""
    return {
        "format": _FORMAT,
        "text": source_identity(data.train, Reading.of(data, trees)),
        "cleaning": asdict(cleaning),
        "vocabulary": vocabulary_identity(
            data.vocabulary, data.directory, merge_across_scripts=data.merge_across_scripts
        ),
        "vocab_size": data.vocab_size,
        "vocab_sample": data.vocab_sample,
        "pairs_per_shard": pairs_per_shard,
    }


def _make(
    data: Data, cleaning: Cleaning, trees: Trees, made_of: dict[str, Any], folder: Path, work: Path,
    on_progress: Progress,
) -> None:  # fmt: skip
    """The passes, in the folder `work`; then `folder` appears, whole."""
    ready = work / "ready"
    ready.mkdir(parents=True, exist_ok=True)
    try:
        per_shard = made_of["pairs_per_shard"]
        report = run_passes(data, cleaning, trees, work, ready, on_progress, pairs_per_shard=per_shard)
    except UserError:
        shutil.rmtree(work)  # who mends it makes it of something else
        raise
    manifest = {"made_of": made_of, "report": asdict(report)}
    (ready / _MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    keep_checksums(ready)
    os.replace(ready, folder)


def _load(folder: Path, on_progress: Progress) -> TrainingData:
    on_progress("checking", 0, None)
    if damage := find_damage(folder):
        raise PreparedDataError(f"{folder}: {damage}: delete that folder, and it is prepared again")
    manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    shards = sorted(folder.glob("ids-*"))
    sides = (Sequences(tuple(Ragged.load(shard, side) for shard in shards)) for side in SIDES)
    stock = folder / INVENTORY
    return TrainingData(
        load_vocabulary(folder / VOCABULARY),
        EncodedCorpus(*sides),
        Report(**manifest["report"]),
        load_inventory(stock) if stock.exists() else None,
    )
