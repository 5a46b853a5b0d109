"""Rows of Table 3 as a list of runs: each row's config, a scale on top, once a seed."""

from collections.abc import Sequence
from pathlib import Path

from experiments.gin_bindings import load_experiment
from experiments.paper import TABLE_3
from experiments.run_list import Run
from experiments.workdir import WorkdirError
from transformer_jax.checked import ConfigError
from transformer_jax.config import Experiment
from transformer_jax.errors import UserError

CONFIGS = Path(__file__).resolve().parents[2] / "gin_configs" / "table3"


class RowError(UserError):
    """A row that Table 3 does not have."""


def row_names(text: str) -> list[str]:
    """ "base,A_h_1" as names, in the table's order, each once; "all" is every row.

    Raises:
      RowError: the table has no such row, or none is named.
    """
    asked = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in asked if name not in TABLE_3 and name != "all"]
    if unknown or not asked:
        raise RowError(
            f"--rows={text}: {unknown[0] if unknown else 'nothing'} is no row; rows are {', '.join(TABLE_3)}"
        )
    return [name for name in TABLE_3 if name in asked or "all" in asked]


def row_runs(names: Sequence[str], seeds: int, gin_files: Sequence[str], gin_params: Sequence[str]) -> list[Run]:
    """Seed by seed, so that a whole table stands early and gets narrower intervals later.

    Raises:
      ConfigError: of a row's config and what goes on top of it; it names the run.
    """
    return [
        Run(f"{name}/seed_{seed}", _experiment(name, gin_files, (*gin_params, f"Training.seed = {seed}")))
        for seed in range(1, seeds + 1)
        for name in names
    ]


def _experiment(row: str, gin_files: Sequence[str], gin_params: Sequence[str]) -> Experiment:
    try:
        return load_experiment([CONFIGS / f"{row}.gin", *gin_files], gin_params)
    except ConfigError as error:
        raise ConfigError(f"{row}: {error}") from error


def require_folder_of_rows(root: Path) -> None:
    """Raises WorkdirError if `root` holds anything but rows, tables made of them, and a launcher's files."""
    entries = sorted(path.name for path in root.iterdir()) if root.is_dir() else []
    strangers = [name for name in entries if name not in TABLE_3 and not name.startswith((".", "table3", "slurm"))]
    if strangers:
        raise WorkdirError(f"{root} is no folder of Table 3's rows (it holds {strangers[0]}): choose another --workdir")
    if root.exists() and not root.is_dir():
        raise WorkdirError(f"{root} is not a directory: choose another --workdir")
