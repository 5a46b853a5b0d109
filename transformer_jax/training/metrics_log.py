"""What a run measured, as `metrics.jsonl` (one JSON object a line) and as TensorBoard scalars."""

import json
import os
import time
from pathlib import Path
from typing import Any

from tensorboardX.event_file_writer import EventsWriter
from tensorboardX.proto.event_pb2 import Event, SessionLog
from tensorboardX.summary import scalar

Record = dict[str, Any]


class MetricsLog:
    """Appends records {"kind": ..., "step": ..., name: value, ...} of a run in `workdir`.

    Opened at step `resumed_at`, it first drops what a killed run had logged beyond that step: no step stands there
    twice.
    """

    def __init__(self, workdir: Path, *, resumed_at: int):
        self._path = workdir / "metrics.jsonl"
        self.records = [record for record in read_metrics(self._path) if record["step"] <= resumed_at]
        temporary = self._path.with_suffix(".tmp")
        temporary.write_text("".join(json.dumps(record) + "\n" for record in self.records))
        os.replace(temporary, self._path)
        self._tensorboard = _Scalars(workdir / "tensorboard", purge_step=resumed_at + 1)

    def append(self, record: Record) -> None:
        """Writes `record` to both places at once."""
        self.records.append(record)
        with self._path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        numbers = {name: value for name, value in record.items() if isinstance(value, (int, float)) and name != "step"}
        self._tensorboard.add({f"{record['kind']}/{name}": value for name, value in numbers.items()}, record["step"])

    def close(self) -> None:
        self._tensorboard.close()


class _Scalars:
    """A file of TensorBoard's. tensorboardX's own writer leaves it to a thread, of whose errors nobody hears."""

    def __init__(self, directory: Path, *, purge_step: int):
        directory.mkdir(exist_ok=True)
        self._file = EventsWriter(str(directory / "events"), f".{os.getpid()}.{time.monotonic_ns()}")
        self._write(step=purge_step, session_log=SessionLog(status=SessionLog.START))
        self._file.flush()

    def add(self, values: Record, step: int) -> None:
        for name, value in values.items():
            self._write(step=step, summary=scalar(name, value))
        self._file.flush()

    def _write(self, **fields: Any) -> None:
        self._file.write_event(Event(wall_time=time.time(), **fields))

    def close(self) -> None:
        self._file.close()


def read_metrics(path: Path) -> list[Record]:
    """The records of a `metrics.jsonl`; a last line that a kill cut short is left out."""
    if not path.exists():
        return []
    records = []
    for line in path.read_text().split("\n"):
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return records
