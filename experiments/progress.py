"""What a person sees of preparing data and of training: a bar on a terminal, lines elsewhere."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from transformer_jax.config import Cleaning, Data, Training, Trees
from transformer_jax.data.prepared import PreparedData, prepare_data
from transformer_jax.training.metrics_log import Record

_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def telling(what: str) -> Iterator[Callable[[str], None]]:
    """Yields what to tell each line to; where there is no terminal, one is shown every ten seconds."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    last = time.monotonic()
    with console.status(what) as status:

        def tell(line: str) -> None:
            nonlocal last
            status.update(line)
            if not console.is_terminal and time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
                console.print(line, markup=False)
                last = time.monotonic()

        yield tell


def prepare(data: Data, cleaning: Cleaning, trees: Trees) -> PreparedData:
    """`prepare_data`, shown as it goes."""
    with telling("preparing") as tell:

        def show(what: str, done: int, total: int | None) -> None:
            tell(f"{what}: {done:,}{f' of {total:,}' if total else ''} pairs" if done else what)

        return prepare_data(data, cleaning, trees, show)


class TrainingDisplay:
    """Shows records of a run as they come. Use as a context manager."""

    def __init__(self, training: Training):
        self._num_steps = training.num_steps
        self._console = Console(stderr=True, soft_wrap=True, highlight=False)
        columns = TextColumn("{task.fields[line]}"), BarColumn()
        self._bar = Progress(*columns, console=self._console, disable=not self._console.is_terminal, transient=True)
        self._task = self._bar.add_task("train", total=training.num_steps, line="compiling")
        self._seen: deque[tuple[int, float]] = deque(maxlen=20)  # (step, time) of late: dev losses and saves included

    def __enter__(self) -> "TrainingDisplay":
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def say(self, line: str) -> None:
        self._console.print(line, markup=False)

    def record(self, record: Record) -> None:
        if record["kind"] == "dev":
            self.say(f"step {record['step']:>6}  dev perplexity {record['perplexity']:.3f}")
        if record["kind"] != "train":
            return
        line = self._line(record)
        self._bar.update(self._task, completed=record["step"], line=line)
        if not self._console.is_terminal:
            self.say(line)

    def _line(self, record: Record) -> str:
        utilisation = f"utilisation {record['utilisation']:.1%}  " if "utilisation" in record else ""
        return (
            f"step {record['step']:>6}/{self._num_steps}  loss {record['loss']:.4f}  "
            f"lr {record['learning_rate']:.2e}  {record['target_tokens_per_second']:,.0f} target tokens/s  "
            f"{utilisation}padding {record['padding_share']:.1%}  {self._left(record['step'])} left"
        )

    def _left(self, step: int) -> str:
        self._seen.append((step, time.monotonic()))
        (first, began), (last, now) = self._seen[0], self._seen[-1]
        if last == first:
            return "?"
        minutes = (now - began) / (last - first) * (self._num_steps - step) / 60
        return f"{minutes // 60:.0f} h {minutes % 60:.0f} min" if minutes >= 60 else f"{minutes:.1f} min"
