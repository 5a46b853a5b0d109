"""A million lines of all kinds pass through `translate`: one out for each, in order, in memory that does not grow.

Some minutes on two cores.
"""

import re
import subprocess
import threading
from itertools import islice
from pathlib import Path

import pytest
from mixed_lines import INVALID, Kinds, feed, mixed_lines, translating
from tiny_commands import run_command, write_corpus

LINES = 1_000_000
BLOCK = Kinds(ordinary=950, strange=45, long=2)
WARM = 50_000  # lines, after which all shapes are compiled and all pools filled
MOST_GROWTH = 30  # MiB


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    home = tmp_path_factory.mktemp("trained")
    ended = run_command("train", f"--gin_file={write_corpus(home / 'text')}", f"--workdir={home / 'run'}")
    assert ended.code == 0, ended.err
    return home / "run"


def resident(process):
    """MiB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)[1]) / 1024


@pytest.mark.slow
def test_memory_is_flat_and_no_line_is_lost(trained, tmp_path):
    """The same lines again and again, back and forth: each time they must be translated as they were the first time."""
    block = mixed_lines(BLOCK, seed=1)
    passes = -(-LINES // len(block))
    first, told, memory = [], [], {}
    with translating(trained, tmp_path, stderr=subprocess.PIPE, tokens_per_batch=8192, patience=7200) as process:
        listener = threading.Thread(target=lambda: told.append(sum(b"UTF-8" in line for line in process.stderr)))
        listener.start()
        feeder = feed(process, (line for i in range(passes) for line in block[:: -1 if i % 2 else 1]))
        for i in range(passes):
            translations = list(islice(process.stdout, len(block)))
            first = first or translations
            assert translations == first[:: -1 if i % 2 else 1], f"pass {i}"
            memory[(i + 1) * len(block)] = resident(process)
        feeder.join()
        process.stdin.close()
        assert process.stdout.read() == b""
        listener.join()
    assert process.returncode == 0
    assert len(first) == len(block)
    assert len(set(first)) > 5, "what is the same for all lines has no order"
    assert told == [passes * sum(INVALID in line or b"\xed" in line for line in block)]
    before = max(megabytes for lines, megabytes in memory.items() if lines <= WARM)
    after = max(megabytes for lines, megabytes in memory.items() if lines > WARM)
    assert after - before < MOST_GROWTH, list(memory.items())[:: passes // 20]
