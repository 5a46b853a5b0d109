"""How well two simple parsers do on a run's own split, so that the run's score can be judged; kept beside the run."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.provenance import provenance
from experiments.scored_trees import bracketing_entry, read_gold
from experiments.workdir import WorkdirError, write_text
from transformer_jax.analysis.parsing_baselines import pcfg
from transformer_jax.analysis.parsing_baselines.right_branching import read_right_branching
from transformer_jax.config import Experiment
from transformer_jax.data.tree_pairs import cleaned_trees, tree_parts, trees_identity
from transformer_jax.trees.tree import Tree

NAMES = {"pcfg": "PCFG", "right_branching": "right-branching"}
SPLIT = "test"
_FILE = f"yardsticks.{SPLIT}.json"


def read_yardsticks(folder: Path, experiment: Experiment) -> dict[str, Any] | None:
    """What `keep_yardsticks` kept of the same trees, by the same programs; None if there is nothing, or of others.

    {"pcfg": its bracketing scores, "right_branching": the same, "others": sentences that the PCFG has no tree for,
    "seconds": what it took, ...}

    Raises:
      WorkdirError: the file cannot be read.
    """
    path = folder / _FILE
    if not path.exists():
        return None
    try:
        kept = dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise WorkdirError(f"{path} is not what was written: delete it, and it is made anew") from error
    return kept if kept.get("identity") == _identity(experiment) else None


def keep_yardsticks(folder: Path, experiment: Experiment, say: Callable[[str], None] = lambda _: None) -> None:
    """Computes them, unless they are there: both are read off the run's training trees, and given the split's words.

    Raises:
      CorpusError, TreeError: the trees cannot be read.
      WorkdirError: the run has no test trees.
    """
    if read_yardsticks(folder, experiment) is not None:
        return
    started, identity = time.monotonic(), _identity(experiment)
    gold = read_gold(folder, experiment, SPLIT)
    if gold is None:
        raise WorkdirError(f"{folder}: Data.{SPLIT} is no treebank")
    training = _trees(experiment, "train")
    say(f"{folder.name}: yardsticks, from {len(training):,} training trees")
    sentences = [tree.words() for tree in gold.trees]
    right_branching = read_right_branching(training)
    parsed, others = pcfg.parse_all(pcfg.read_pcfg(training), right_branching.parse, sentences)
    kept = {
        "pcfg": bracketing_entry(experiment, gold, parsed),
        "right_branching": bracketing_entry(experiment, gold, list(map(right_branching.parse, sentences))),
        "others": others,
        "seconds": time.monotonic() - started,
        "identity": identity,
        **provenance(),
    }
    write_text(folder / _FILE, json.dumps(kept, indent=2, ensure_ascii=False) + "\n")


def _trees(experiment: Experiment, split: str) -> list[Tree]:
    data = experiment.data
    parts = tree_parts(getattr(data, split))
    found = (tree for part in parts for tree, _ in cleaned_trees(part, data.directory, experiment.trees))
    return [tree for tree in found if tree is not None]


def _identity(experiment: Experiment) -> list[Any]:
    """What the scores depend on, in JSON's types: the trees, how they are read and scored, the programs."""
    data = experiment.data
    parts = [part for split in ("train", SPLIT) for part in tree_parts(getattr(data, split))]
    files = sorted(Path(pcfg.__file__).parent.glob("*.py"))
    programs = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
    trees = [trees_identity(part, data.directory, experiment.trees) for part in parts]
    return json.loads(json.dumps([trees, asdict(experiment.scoring), programs]))
