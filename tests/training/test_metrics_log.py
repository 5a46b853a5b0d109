"""What a run measured stands in the log once, whatever became of the process."""

import json

import pytest
from tensorboardX.proto.event_pb2 import Event

from transformer_jax.training.metrics_log import MetricsLog, read_metrics


def record(step: int, kind: str = "train", **values) -> dict:
    return {"kind": kind, "step": step, "loss": 1.0 / step, **values}


def write(workdir, steps, *, resumed_at=0) -> MetricsLog:
    log = MetricsLog(workdir, resumed_at=resumed_at)
    for step in steps:
        log.append(record(step))
    log.close()
    return log


def steps_on_disk(workdir) -> list[int]:
    return [json.loads(line)["step"] for line in (workdir / "metrics.jsonl").read_text().splitlines()]


def test_records_stand_there_at_once_and_read_back_the_same(tmp_path):
    log = MetricsLog(tmp_path, resumed_at=0)
    records = [record(2, note="ü", share=0.1), record(2, kind="dev"), record(4, count=3)]
    for number, each in enumerate(records, start=1):
        log.append(each)
        assert read_metrics(tmp_path / "metrics.jsonl") == records[:number]
    log.close()
    assert log.records == records


def test_a_missing_log_is_empty(tmp_path):
    assert read_metrics(tmp_path / "metrics.jsonl") == []


def test_resuming_drops_what_lies_beyond(tmp_path):
    write(tmp_path, [2, 4, 6, 8])
    log = write(tmp_path, [], resumed_at=5)
    assert [each["step"] for each in log.records] == steps_on_disk(tmp_path) == [2, 4]
    write(tmp_path, [6, 7], resumed_at=5)
    assert steps_on_disk(tmp_path) == [2, 4, 6, 7]


def test_resuming_keeps_the_step_itself(tmp_path):
    write(tmp_path, [2, 4])
    assert [each["step"] for each in write(tmp_path, [], resumed_at=4).records] == [2, 4]
    assert write(tmp_path, [], resumed_at=0).records == []


@pytest.mark.parametrize("kept", [1, 20, -1])
def test_a_last_line_cut_short_is_left_out_and_mended(tmp_path, kept):
    write(tmp_path, [2, 4, 6])
    path = tmp_path / "metrics.jsonl"
    *lines, last = path.read_text().splitlines()
    path.write_text("\n".join([*lines, last[:kept]]))
    assert [each["step"] for each in read_metrics(path)] == [2, 4]
    write(tmp_path, [6], resumed_at=4)
    assert steps_on_disk(tmp_path) == [2, 4, 6]


def test_a_failed_rewrite_leaves_the_old_log(tmp_path, monkeypatch):
    write(tmp_path, [2, 4, 6])

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        MetricsLog(tmp_path, resumed_at=3)
    assert steps_on_disk(tmp_path) == [2, 4, 6]


def events(workdir) -> list[Event]:
    found = []
    for path in sorted((workdir / "tensorboard").glob("events.out.tfevents.*")):
        data = path.read_bytes()
        while data:
            # A TFRecord: the length in 8 bytes, 4 of checksum, the event, 4 of checksum.
            length = int.from_bytes(data[:8], "little")
            found.append(Event.FromString(data[12 : 12 + length]))
            data = data[16 + length :]
    return found


def test_tensorboard_has_every_number(tmp_path):
    log = MetricsLog(tmp_path, resumed_at=0)
    log.append(record(4, note="text", count=3))
    log.append({"kind": "dev", "step": 4, "perplexity": 7.5})
    log.close()
    scalars = [
        (value.tag, event.step, value.simple_value) for event in events(tmp_path) for value in event.summary.value
    ]
    assert scalars == [("train/loss", 4, 0.25), ("train/count", 4, 3.0), ("dev/perplexity", 4, 7.5)]


def test_tensorboard_is_told_what_a_resumed_run_does_again(tmp_path):
    write(tmp_path, [], resumed_at=5)
    assert [event.step for event in events(tmp_path) if event.HasField("session_log")] == [6]
