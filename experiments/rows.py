"""Which rows of the test set are to be scored apart."""

from pathlib import Path

from transformer_jax.config import Experiment
from transformer_jax.data.corpus import CorpusError


def read_rows(experiment: Experiment, sentences: int) -> list[int]:
    """The rows that `Scoring.test_rows` names, of a test set of so many sentences; none if it names no file.

    Raises:
      CorpusError: the file cannot be read, or a line is not the number of a row, or of one that came before.
    """
    if experiment.scoring.test_rows is None:
        return []
    path = Path(experiment.data.directory).expanduser() / experiment.scoring.test_rows
    try:
        lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror}") from error
    rows: dict[int, None] = {}
    for number, line in enumerate(lines, 1):
        if not line.isdecimal() or int(line) >= sentences or int(line) in rows:
            raise CorpusError(
                f"{path}, line {number}: {line!r} must be the number of a row, from 0 to {sentences - 1}, each once"
            )
        rows[int(line)] = None
    return list(rows)
