"""Lines of all kinds, and `translate` as a process of its own, on one device, that is fed with them through a pipe."""

import contextlib
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from tiny_commands import PROJECT_ROOT, sentence_pairs

# Greedy and short: nearly all of the time goes into reading, encoding and writing.
QUICK = {
    "Decoding.beam_size": 1,
    "Decoding.max_length_ratio": 0.0,
    "Decoding.max_extra_length": 5,
}
INVALID = b"the old cat \xff sees a street"
STRANGE = [
    INVALID,
    b"",
    b" \t  \xc2\xa0",
    "the old cat\x85sees\u2028a street".encode(),
    b"the old cat\x0b\x0c\x1c\x1d\x1esees a street\r",
    b"\x00\x01\x02\x1b[31m\x7f",
    b"\xef\xbb\xbfthe old cat",
    "猫 は 古い \U0001f600 \u202eשלום".encode(),
    b"\xed\xa0\x80 \xc3",
]


class Kinds(NamedTuple):
    ordinary: int  # from 1 to 400 words, short ones as often as long ones
    strange: int
    long: int  # of 10,000 words


def mixed_lines(kinds: Kinds, seed: int) -> list[bytes]:
    """In a random order, each with its end."""
    rng = random.Random(seed)
    words = [word for english, _ in sentence_pairs(2_500, seed) for word in english.split()]

    def some_words(count: int) -> bytes:
        start = rng.randrange(len(words))
        return " ".join([*words[start:], *words][:count]).encode()

    lines = [some_words(int(400 ** rng.random())) for _ in range(kinds.ordinary)]
    lines += [STRANGE[i % len(STRANGE)] for i in range(kinds.strange)]
    lines += [some_words(10_000) for _ in range(kinds.long)]
    rng.shuffle(lines)
    return [line + b"\n" for line in lines]


@contextlib.contextmanager
def translating(
    workdir: Path, compiled: Path, *, stderr: IO[bytes] | int, tokens_per_batch: int = 256, patience: float = 600
) -> Iterator[subprocess.Popen]:
    """Between its pipes, until it ends by itself. What it compiles, quickly, is kept in `compiled`.

    After so many seconds it is killed, so that a test that waits for what never comes ends too.
    """
    left_out = ("XLA_FLAGS", "PYTHONUNBUFFERED")  # more devices; what is written would not wait to be flushed
    environment = {name: value for name, value in os.environ.items() if name not in left_out} | {
        "JAX_COMPILATION_CACHE_DIR": str(compiled),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    }
    settings = QUICK | {"Decoding.tokens_per_batch": tokens_per_batch}
    bindings = [f"--gin_param={name} = {value}" for name, value in settings.items()]
    with subprocess.Popen(
        [sys.executable, "-m", "experiments.translate", f"--workdir={workdir}", *bindings],
        cwd=PROJECT_ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
    ) as process:  # fmt: skip
        watchdog = threading.Timer(patience, process.kill)
        watchdog.start()
        try:
            yield process
            process.wait()
        except BaseException:
            process.kill()
            raise
        finally:
            watchdog.cancel()


def feed(process: subprocess.Popen, lines: Iterable[bytes]) -> threading.Thread:
    """Writes from a thread, and leaves the pipe open."""

    def write() -> None:
        process.stdin.writelines(lines)
        process.stdin.flush()

    thread = threading.Thread(target=write)
    thread.start()
    return thread
