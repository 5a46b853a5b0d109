"""Where the time of an update goes: a trace of one, its operations put down to the parts of the model."""

import gzip
import json
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jax

# The first that is found in the name that the program gives an operation: its place in the source.
_PARTS = (
    ("dropout", r"[Dd]ropout|threefry|random_bits|rng"),
    ("attention", r"/(self|source)_attention[./]"),
    ("feed-forward", r"/feed_forward[./]"),
    ("norms, residual sums", r"LayerNorm|_residual|final_norm"),
    ("embeddings, positions", r"embedding|positions"),
    ("other work in the stacks", r"encoder|decoder"),
    ("logits and loss", r"jvp\("),
)
_REST, _UNNAMED = "optimizer and the rest", "what has no place in the source"
_NAMED = re.compile(r'^\s*(?:ROOT )?%?([\w.\-]+) = .*?op_name="([^"]*)"')
_MADE_OF_OTHERS = ("while", "call", "conditional")


def seconds_by_part(updates: Any) -> dict[str, float]:
    """Of one update of the commonest shape, the time of its operations, some of which run at once on several cores."""
    number = updates.one_of_each_shape()[0]
    program = updates.step.lower(updates.state, updates.shards(number), updates.experiment.training.seed).compile()
    names = dict(named_operations(program.as_text()))
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            updates.make([number])
        path = next(Path(folder).rglob("*.trace.json.gz"))
        events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    seconds: defaultdict[str, float] = defaultdict(float)
    for operation, microseconds in operations(events):
        seconds[part_of(names.get(operation, ""))] += microseconds * 1e-6
    return dict(sorted(seconds.items(), key=lambda item: -item[1]))


def named_operations(program: str) -> Iterator[tuple[str, str]]:
    """(operation, its place in the source) of each line of a compiled program's text that tells both."""
    for line in program.split("\n"):
        if found := _NAMED.match(line):
            yield found[1], found[2]


def part_of(name: str) -> str:
    return next((part for part, pattern in _PARTS if re.search(pattern, name)), _REST) if name else _UNNAMED


def operations(events: Iterable[dict[str, Any]]) -> Iterator[tuple[str, float]]:
    """(operation, microseconds) of each operation's event in a trace, but for those that are made of others."""
    for event in events:
        operation = event.get("args", {}).get("hlo_op")
        if event.get("ph") == "X" and operation and not operation.startswith(_MADE_OF_OTHERS):
            yield operation, event["dur"]
