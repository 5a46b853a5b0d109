"""The bracketing score of a split of trees, section 6.3, and the parses that it is of."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.parser import read_inventory
from experiments.workdir import write_text
from transformer_jax.config import Experiment
from transformer_jax.data.corpus import Corpus
from transformer_jax.data.tree_inventory import TreeInventory
from transformer_jax.data.tree_pairs import cleaned_trees, is_of_trees, tree_parts
from transformer_jax.decoding.parser import Parse, parse_of
from transformer_jax.evaluation import Evaluation
from transformer_jax.metrics.bracketing.parameters import STANDARD, BracketingParameters, read_parameters
from transformer_jax.metrics.bracketing.score import Summary, bracketing_score
from transformer_jax.trees.cleaning import under
from transformer_jax.trees.tree import Tree

# Over gold trees and parses alike, whatever the treebank has there: the usual parameters do not count it.
OUTER_LABEL = "TOP"


@dataclass(frozen=True)
class Gold:
    """What the parses of a split are scored against, and how."""

    trees: list[Tree]  # under the outer label
    left_out: int  # trees of nothing but traces
    parameters: BracketingParameters
    inventory: TreeInventory  # of the training trees


def read_gold(workdir: Path, experiment: Experiment, split: str) -> Gold | None:
    """The trees of a split, cleaned as the config says, but for unary loops, which are scored; None: it has no trees.

    Args:
      workdir: of the run that parses.

    Raises:
      CorpusError, TreeError, ParameterFileError: a file cannot be read.
      WorkdirError: the run was not trained on trees.
    """
    data = experiment.data
    source = getattr(data, split)
    if not is_of_trees(source):
        return None
    as_scored = dataclasses.replace(experiment.trees, collapse_unary_loops=False)
    found = [tree for part in tree_parts(source) for tree, _ in cleaned_trees(part, data.directory, as_scored)]
    trees = [under(OUTER_LABEL, tree) for tree in found if tree is not None]
    file = experiment.scoring.bracketing_parameters
    parameters = STANDARD if file is None else read_parameters(Path(data.directory).expanduser() / file)
    return Gold(trees, len(found) - len(trees), parameters, read_inventory(workdir))


def score_trees(
    workdir: Path, experiment: Experiment, split: str, gold: Gold | None, corpus: Corpus, evaluation: Evaluation
) -> dict[str, Any]:
    """{"bracketing": scores of the translations as trees}, which are kept in `parses_file`; {} without gold trees."""
    if gold is None:
        return {}
    leaves, pairs = experiment.trees.leaves, zip(corpus.sources, evaluation.translations, strict=True)
    parses = [parse_of(source, translation, leaves, gold.inventory) for source, translation in pairs]
    lines = "".join(f"{' '.join(map(str, _whole(parse.tree)))}\n" for parse in parses)
    write_text(parses_file(workdir, split), lines)
    return {"bracketing": bracketing_entry(experiment, gold, [parse.tree for parse in parses]) | _repairs(parses)}


def bracketing_entry(experiment: Experiment, gold: Gold, trees: Sequence[Tree | None]) -> dict[str, Any]:
    """The scores of trees without outer labels; None: a sentence that has no words.

    EVALB leaves out words by their tags, and sentences that are then of other words. With the gold trees' tags, no
    sentence is left out; as brackets have no tags, their score is the same where none was.
    """
    references, parses = [[tree] for tree in gold.trees], [_whole(tree) for tree in trees]
    score = bracketing_score(references, parses, gold.parameters)
    retagged = [[_retagged(tree, own.tags()) for tree in parse] for parse, own in zip(parses, gold.trees, strict=True)]
    return {
        **_values(score.all),
        "short": {"most_words": score.cutoff_length, **_values(score.short)},
        "with_gold_tags": _values(bracketing_score(references, retagged, gold.parameters).all),
        "stopped_by_errors": score.stopped,
        "parameters": experiment.scoring.bracketing_parameters or "EVALB's new.prm, but MAX_ERROR 10000",
        "left_out": gold.left_out,
    }


def _whole(tree: Tree | None) -> list[Tree]:
    return [] if tree is None else [under(OUTER_LABEL, tree)]


def _retagged(tree: Tree, tags: Sequence[str]) -> Tree:
    left = iter(tags)
    return tree.fold(lambda leaf: Tree(next(left), word=leaf.word), lambda own, parts: Tree(own.label, tuple(parts)))


def parses_file(workdir: Path, split: str) -> Path:
    """A tree a line."""
    return workdir / f"parses.{split}.txt"


def bracketing_lines(bracketing: dict[str, Any]) -> list[str]:
    """An entry for people to read, F1 first."""
    short, errors = bracketing["short"], bracketing["error_sentences"]
    repairs = ", ".join(f"{count:,} {repair}" for repair, count in bracketing["repairs"].items())
    return [
        _line("F1", bracketing),
        _line(f"F1 of {short['sentences']:,} sentences of at most {short['most_words']} words", short),
        f"EVALB's score; {bracketing['parameters']}",
        *(
            [f"{errors:,} sentences are left out, of whose words the tags leave out others than the gold trees'"]
            * (errors > 0)
        ),
        *([f"F1 {bracketing['with_gold_tags']['f1']:.2f} of all sentences, with the gold trees' tags"] * (errors > 0)),
        *(["WARNING: so many stopped the scoring early"] if bracketing["stopped_by_errors"] else []),
        *([f"{bracketing['left_out']:,} trees of nothing but traces are left out"] if bracketing["left_out"] else []),
        f"{bracketing['repaired_sentences']:,} translations were no trees{f': {repairs}' if repairs else ''}",
    ]


def _line(name: str, values: dict[str, Any]) -> str:
    return (
        f"{name} {values['f1']:.2f}, recall {values['recall']:.2f}, precision {values['precision']:.2f}, "
        f"tagging accuracy {values['tagging_accuracy']:.2f}, complete match {values['complete_match']:.2f}"
    )


def _values(summary: Summary) -> dict[str, float]:
    counts = summary.counts
    return {
        "f1": counts.f1,
        "recall": counts.recall,
        "precision": counts.precision,
        "tagging_accuracy": counts.tagging_accuracy,
        "complete_match": summary.complete_match,
        "sentences": summary.sentences,
        "error_sentences": summary.errors,
        "skipped_sentences": summary.skipped,
    }


def _repairs(parses: Sequence[Parse]) -> dict[str, Any]:
    repairs = sum((parse.repairs for parse in parses), Counter[str]())
    return {
        "repaired_sentences": sum(bool(parse.repairs) for parse in parses),
        "repairs": dict(sorted(repairs.items())),
    }
