"""Which checkpoints of a run are averaged."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from transformer_jax.errors import UserError
from transformer_jax.training.checkpoint import newest


@dataclass(frozen=True, order=True)
class Average:
    """Of `count` checkpoints: the newest, and back from there each `spacing`-th."""

    count: int
    spacing: int

    def of(self, steps: Sequence[int]) -> list[int]:
        """Which of a run's steps, ascending; none if these are too few."""
        chosen = newest(steps, self.count, spacing=self.spacing)
        return chosen if len(chosen) == self.count else []


def averages(counts: Iterable[int], spacings: Iterable[int]) -> list[Average]:
    """Each count with each spacing, which one checkpoint has not."""
    return sorted({Average(count, spacing if count > 1 else 1) for spacing in spacings for count in counts})


def positive_numbers(flag: str, text: str) -> list[int]:
    """A flag's "1,2,5"; raises UserError for anything else."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and int(word) > 0 for word in words):
        raise UserError(f"{flag}={text}: must be whole numbers from 1 on, with commas between them")
    return [int(word) for word in words]
