"""Tries each fault on a small run, and writes what came of it, with `--write` as `docs/reliability.md`.

PYTHONPATH=tests python -m faults [--kills=200] [--write]

Ends with code 1 if anything was lost.
"""

import argparse
import importlib.metadata
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from faults import arena, damage, kills, signals
from faults.tally import Tally, fault_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
_PACKAGES = ("jax", "orbax-checkpoint")


def main() -> None:
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--kills", type=int, default=200)
    flags.add_argument("--times", type=int, default=4, help="how often each of the other faults is tried")
    flags.add_argument("--seed", type=int, default=1)
    flags.add_argument("--write", action="store_true")
    args = flags.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="faults.") as home:
        os.environ |= {**arena.ENVIRONMENT, "JAX_COMPILATION_CACHE_DIR": f"{home}/compiled"}
        tallies = []
        for tally in _tried(arena.Arena(Path(home)), random.Random(args.seed), args.kills, args.times):
            tallies.append(tally)
            print(f"{time.monotonic() - began:7.1f} s  {tally}", file=sys.stderr, flush=True)
    text = _page(tallies, args, time.monotonic() - began)
    print(text)
    if args.write:
        PAGE.write_text(text, encoding="utf-8")
    sys.exit(any(tally.lost for tally in tallies))


def _tried(where: arena.Arena, rng: random.Random, number: int, times: int) -> Iterator[Tally]:
    yield from kills.random_kills(where, rng, number)
    yield signals.stops(where, rng, signal.SIGTERM, times)
    yield signals.stops(where, rng, signal.SIGINT, times)
    yield damage.damaged_file(where, rng, "cut", times)
    yield damage.damaged_file(where, rng, "flip", times)
    yield damage.full_disc(where, rng, times)
    yield signals.two_runs(where, rng, times)
    yield damage.not_finite(where, rng, times)
    yield signals.lost_peer(where, rng, min(times, 2))


def _page(tallies: list[Tally], args: argparse.Namespace, seconds: float) -> str:
    flags = f"--kills={args.kills} --times={args.times} --seed={args.seed}"
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _PACKAGES)
    steps, saves = (arena.SETTINGS[f"Training.{name}"] for name in ("num_steps", "checkpoint_every_steps"))
    return f"""\
# Reliability

<!-- written by `PYTHONPATH=tests python -m faults {flags} --write` -->

What befell a run of {steps} steps that saves after every {saves}, and what came of it. It has survived if in the end
the arrays of its last checkpoint (parameters and optimizer state, by their checksums), its dev losses and the order of
its log are those of the run that nobody disturbed. Tried in {seconds / 60:.0f} minutes on {os.cpu_count()} cores, with
{versions}.

{fault_table(tallies)}"""


if __name__ == "__main__":
    main()
