"""Parsers as a list of runs, and what of them is scored."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from experiments.gin_bindings import load_experiment
from experiments.parsing.yardsticks import SPLIT, read_yardsticks
from experiments.run_list import Run, RunList
from experiments.workdir import WorkdirError, read_experiment
from transformer_jax.checked import ConfigError
from transformer_jax.config import Experiment
from transformer_jax.data.tree_inventory import INVENTORY, load_inventory
from transformer_jax.data.tree_pairs import is_of_trees


class ParsedRun(NamedTuple):
    """A run that is trained and scored."""

    folder: Path
    experiment: Experiment
    entry: dict[str, Any]  # of the test split, in its results
    training_trees: int
    yardsticks: dict[str, Any] | None  # as `keep_yardsticks` says; None: not computed yet


def run_list(root: Path, gin_files: Sequence[str], gin_params: list[str]) -> RunList:
    """A run for each config, in a folder of its name; without configs, those that lie in `root`.

    Raises:
      ConfigError: of a config; or two have one name, or it is not one of a parser.
      WorkdirError: there are neither configs nor runs.
    """
    if not gin_files:
        folders = sorted(path.parent for path in root.glob("*/config.gin"))
        if not folders:
            raise WorkdirError(f"{root} holds no run: say which to train, by --gin_file")
        return RunList([Run(folder.name, read_experiment(folder, [], gin_params)) for folder in folders], root, SPLIT)
    names = [Path(file).stem for file in gin_files]
    for name, file in zip(names, gin_files, strict=True):
        if names.count(name) > 1:
            raise ConfigError(f"{file}: another --gin_file has this name, which is that of the run's folder")
    return RunList([Run(name, _experiment(file, gin_params)) for name, file in zip(names, gin_files, strict=True)],
                   root, SPLIT)  # fmt: skip


def _experiment(gin_file: str, gin_params: Sequence[str]) -> Experiment:
    experiment = load_experiment([gin_file], gin_params)
    for split in ("train", "dev", "test"):
        source = getattr(experiment.data, split)
        if not is_of_trees(source):
            raise ConfigError(f"{gin_file}: Data.{split} = {source!r} is no treebank: each part must be trees:PATH")
    return experiment


def parsed_runs(runs: RunList) -> list[ParsedRun]:
    """Those that have a bracketing score.

    Raises:
      WorkdirError: a run's results cannot be read.
    """
    found = []
    for run in runs.runs:
        folder = runs.root / run.name
        entry = _entry(folder / "results.json")
        if entry is not None:
            trees = load_inventory(folder / INVENTORY).trees
            yardsticks = read_yardsticks(folder, run.experiment)
            found.append(ParsedRun(folder, run.experiment, entry, trees, yardsticks))
    return found


def _entry(path: Path) -> dict[str, Any] | None:
    """Whatever the settings of the search were: the table says them."""
    if not path.exists():
        return None
    try:
        entry = json.loads(path.read_text(encoding="utf-8")).get(SPLIT)
    except (ValueError, AttributeError) as error:
        raise WorkdirError(f"{path} is not a run's results: move it away and evaluate again") from error
    return entry if entry and "bracketing" in entry else None
