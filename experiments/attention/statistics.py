"""Every head in numbers over one split, read with its references: attention.json, and attention.md for people."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float32, Int

from experiments.attention.numbers import markdown
from experiments.attention.run import AttentionError, Run
from experiments.provenance import provenance
from experiments.workdir import write_text
from transformer_jax.analysis.attention_maps import HeadStatistics, StackStatistics, means, stack_sums
from transformer_jax.analysis.piece_spans import piece_spans
from transformer_jax.analysis.reversed_numerals import LANGUAGES, Looks, NumeralPieces, looks, numeral_pieces, numerals
from transformer_jax.data.prepared import prepare_split
from transformer_jax.decoding.pair_batches import Pair, pair_batches
from transformer_jax.model.transformer import Params, Transformer

_TOKENS_PER_BATCH = 2048  # positions of a side: all heads' weights on them are held at once
Numerals = dict[int, list[NumeralPieces]]  # by the number of the pair


def write_statistics(run: Run, split: str) -> list[Path]:
    """Adds the split's entry to the run's attention.json, beside other splits'; writes all of them as attention.md too.

    Raises:
      CorpusError, TreeError: the split cannot be read.
      AttentionError: attention.json holds something else, or no pair is short enough for the model.
    """
    data, record = run.workdir / "attention.json", run.workdir / "attention.md"
    entries = _read(data) | {split: statistics(run, split)}
    write_text(data, json.dumps(entries, indent=2, ensure_ascii=False) + "\n")
    write_text(record, markdown(entries))
    return [record, data]


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:
        raise AttentionError(f"{path} is not JSON: move it away") from error
    if not (isinstance(found, dict) and all(isinstance(each, dict) and "numerals" in each for each in found.values())):
        raise AttentionError(f"{path} holds no statistics: move it away")
    return found


def statistics(run: Run, split: str) -> dict[str, Any]:
    """One split's entry."""
    corpus, encoded = prepare_split(run.experiment.data, run.experiment.trees, run.vocabulary, split)
    longest = run.experiment.model.max_length
    every = [Pair(encoded.source(i).tolist(), encoded.target(i).tolist()) for i in range(len(encoded))]
    pairs = [pair for pair in every if max(map(len, pair)) <= longest]
    if not pairs:
        raise AttentionError(f"{corpus.name}: all pairs are longer than Model.max_length = {longest}")
    found, said = _numerals(run, pairs)
    totals, looking = None, []
    for indices, sums, weights in _batches(run, pairs):
        totals = sums if totals is None else jax.tree.map(np.add, totals, sums)
        looking += [looks(weights[row], pieces) for row, i in enumerate(indices) for pieces in found.get(i, [])]
    assert totals is not None
    return {
        **{name: _means(sums) for name, sums in totals._asdict().items()},
        "numerals": {"said": said, "counted": len(looking), **_shares(looking)},
        "sentences": len(pairs),
        "left_out_as_too_long": len(every) - len(pairs),
        "corpus": corpus.name,
        "corpus_sha256": corpus.fingerprint,
        "checkpoint_steps": run.weights.steps,
        **provenance(),
    }


@partial(jax.jit, static_argnums=0)
def _sums_and_weights(model: Transformer, params: Params, source: Int[Array, "B S"], target: Int[Array, "B T"]) -> Any:
    weights: Any = model.apply({"params": params}, source, target, method="attention_weights")
    return stack_sums(weights, source, target), weights.source


def _batches(
    run: Run, pairs: list[Pair]
) -> Iterator[tuple[list[int], StackStatistics, Float32[np.ndarray, "B layers H T S"]]]:
    """Of each batch: which pairs, the sums, and the weights over the source."""
    longest = run.experiment.model.max_length
    for batch in pair_batches(pairs, longest=longest, tokens_per_batch=_TOKENS_PER_BATCH):
        sums, weights = _sums_and_weights(run.model, run.weights.params, batch.source, batch.target)
        exact = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), sums)
        yield batch.indices, exact, np.moveaxis(np.asarray(weights, np.float32), 1, 0)


def _numerals(run: Run, pairs: list[Pair]) -> tuple[Numerals, int]:
    """The numerals that count, and how many the targets say in all; none but between English and German."""
    languages = run.experiment.data.source_language, run.experiment.data.target_language
    if not LANGUAGES.issuperset(languages):
        return {}, 0
    found, said = {}, 0
    for i, pair in enumerate(pairs):
        ours, theirs = (numerals(run.vocabulary.decode(ids), lang) for ids, lang in zip(pair, languages, strict=True))
        said += len(theirs)
        if ours and theirs:
            read, written = (piece_spans(run.vocabulary, ids) for ids in pair)
            found[i] = numeral_pieces(ours, theirs, read, written)
    return found, said


def _means(sums: HeadStatistics) -> dict[str, Any]:
    return {name: np.asarray(value).tolist() for name, value in means(sums)._asdict().items()}


def _shares(found: list[Looks]) -> dict[str, Any]:
    """Of each head, the share of the numerals; nothing where none counts."""
    return {
        name: np.mean(of_all, 0).tolist() for name, of_all in zip(Looks._fields, zip(*found, strict=True), strict=False)
    }
