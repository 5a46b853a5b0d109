"""The commands, run in this process on tiny text, and one trained run that the tests share."""

import contextlib
import hashlib
import importlib
import io
import random
import re
import signal
import sys
from pathlib import Path
from typing import NamedTuple

import jax
import pytest

from experiments import command

PROJECT_ROOT = Path(__file__).resolve().parents[1]
ADJECTIVES = {"big": "große", "small": "kleine", "old": "alte", "new": "neue"}
NOUNS = {"cat": "Katze", "lamp": "Lampe", "street": "Straße", "woman": "Frau", "flower": "Blume"}
VERBS = {"sees": "sieht", "finds": "findet", "likes": "mag"}
SIZES = {"train": 211, "dev": 13, "test": 11}
# The corpus of `write_corpus`, one shape for all of it.
CORPUS_SETTINGS = """
Data.train = ("train.en", "train.de")
Data.dev = ("dev.en", "dev.de")
Data.test = "test.tsv"
Data.vocab_size = 71
Data.max_train_length = 31
Batching.tokens_per_batch = 512
Batching.tokens_per_device = 64
Batching.num_shapes = 1
"""
# It learns, in seconds, enough of the language that its translations depend on their sources.
SETTINGS = f"""{CORPUS_SETTINGS}Model.num_layers = 1
Model.d_model = 16
Model.d_ff = 23
Model.num_heads = 2
Model.d_k = 5
Model.d_v = 7
Model.max_length = 37
Model.dropout_rate = 0.0
Training.num_steps = 150
Training.log_every_steps = 50
Training.evaluate_every_steps = 100
Training.checkpoint_every_steps = 50
Training.keep_checkpoints = 3
Optimizer.warmup_steps = 40
Decoding.average_checkpoints = 2
Decoding.beam_size = 2
Decoding.max_extra_length = 3
Decoding.tokens_per_batch = 256
"""


class Ended(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: bytes
    err: str


def run_command(name: str, *args: str, stdin: bytes = b"") -> Ended:
    """`python -m experiments.NAME ARGS`, but in this process; its signal handlers are put back."""
    module = importlib.import_module(f"experiments.{name}")
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in "oe")
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    code = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(module.__file__), *args])
        patch.setattr(command, "keep_compiled_programs", lambda: None)  # the user's cache is none of ours
        jax.config.update("jax_disable_most_optimizations", True)  # most of the time would go into compiling
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                command.run(module.main)
        except SystemExit as ended:
            code = int(ended.code or 0)
        finally:
            jax.config.update("jax_disable_most_optimizations", False)
            for number, handler in handlers.items():
                signal.signal(number, handler)
    return Ended(code, out.buffer.getvalue(), err.buffer.getvalue().decode())


class StopAfter:
    """In place of a signal: asks to stop after so many questions."""

    def __init__(self, questions: int):
        self.left = questions

    def __call__(self) -> bool:
        self.left -= 1
        return self.left < 0


def require_one_line(ended: Ended, pattern: str) -> None:
    """It ended on bad input, with one line and no more; `pattern` must match the whole of it."""
    assert ended.code != 0
    assert ended.out == b""
    assert ended.err.endswith("\n")
    (line,) = ended.err.splitlines()
    assert re.fullmatch(f"error: {pattern}", line), line


def snapshot(folder: Path) -> dict[str, str | None]:
    """SHA-256 of every file, None for a directory."""
    return {
        path.relative_to(folder).as_posix(): None if path.is_dir() else hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
    }


def sentence_pairs(count: int, seed: int) -> list[tuple[str, str]]:
    choose = random.Random(seed).choice
    pairs = []
    for _ in range(count):
        (adjective, noun, verb, other) = (choose(list(words)) for words in (ADJECTIVES, NOUNS, VERBS, NOUNS))
        english = f"the {adjective} {noun} {verb} a {other}"
        pairs.append((english, f"die {ADJECTIVES[adjective]} {NOUNS[noun]} {VERBS[verb]} eine {NOUNS[other]}"))
    return pairs


def write_corpus(folder: Path) -> Path:
    """Text of three splits and the config, `tiny.gin`, which is returned."""
    folder.mkdir()
    for seed, (split, size) in enumerate(SIZES.items()):
        pairs = sentence_pairs(size, seed)
        if split == "test":
            (folder / "test.tsv").write_text("".join(f"{en}\t{de}\n" for en, de in pairs), encoding="utf-8")
            continue
        for side, language in enumerate(("en", "de")):
            text = "".join(f"{pair[side]}\n" for pair in pairs)
            (folder / f"{split}.{language}").write_text(text, encoding="utf-8")
    config = folder / "tiny.gin"
    base = PROJECT_ROOT / "gin_configs" / "base.gin"
    places = f'Data.directory = "{folder}"\nData.cache_directory = "{folder / "cache"}"\n'
    config.write_text(f'include "{base}"\n{SETTINGS}{places}', encoding="utf-8")
    return config
