"""How fast training is, in real target tokens a second, beside PyTorch's nn.Transformer.

python -m benchmarks.train --workdir=runs/bench_train --peers

Three sizes of model on Multi30k (`benchmarks.train_settings`): whole updates, from text to parameters, over all shapes
in the order of a run. With --peers, the same model, first weights and batches in PyTorch, in the way that is fastest
here (requirements-peers.txt, installed in .venv-peers): both take turns, and are compared pair by pair, with the speed
of a matrix product and what other processes had of the machine beside each. Both have the environment of this command,
so also its setting of malloc. Writes benchmark.md in the workdir and, with --document, that file too.
"""

import math
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks import train_settings
from benchmarks.train_memory import bytes_by_rematerialise
from benchmarks.train_report import Measured, render
from benchmarks.train_side import ROOT, Side, Turn
from benchmarks.train_start import measure_start
from experiments import command
from experiments.workdir import write_text
from transformer_jax.config import ComputeDtype
from transformer_jax.data.prepared import prepare_data
from transformer_jax.errors import UserError

_SAME: dict[ComputeDtype, float] = {"float32": 1e-5, "bfloat16": 1e-2}


def main() -> None:
    flags = command.Parser(__doc__)
    flags.add_argument("--workdir", type=Path, required=True)
    flags.add_argument("--only", default=",".join(train_settings.NAMES), help="settings, by commas")
    flags.add_argument("--pairs", type=int, default=3, help="turns of each side")
    flags.add_argument("--updates", type=int, help="of a turn; without it, the setting's own number")
    flags.add_argument("--data", default="data/multi30k/tok", help="the folder of Multi30k's tokenised text")
    flags.add_argument("--peers", action="store_true")
    flags.add_argument("--peers_python", type=Path, default=ROOT / ".venv-peers/bin/python")
    flags.add_argument("--peers_compile", action="store_true", help="try torch.compile too, which takes minutes")
    flags.add_argument("--document", type=Path, help="docs/performance.md")
    args = flags.parse_args()
    names = args.only.split(",")
    if unknown := [name for name in names if name not in train_settings.NAMES]:
        raise UserError(f"--only={args.only}: {unknown[0]} is none of {', '.join(train_settings.NAMES)}")
    for flag in ("pairs", "updates"):
        if (getattr(args, flag) or 1) < 1:
            raise UserError(f"--{flag}={getattr(args, flag)}: must be at least 1")
    if args.peers and not args.peers_python.exists():
        raise UserError(f"--peers: there is no {args.peers_python}; see requirements-peers.txt")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # several processes share a GPU's memory
    args.workdir.mkdir(parents=True, exist_ok=True)
    measured = [_measure(name, args) for name in names]
    base = next((own.experiment for own in measured if own.name == "base"), None)
    report = render(measured, bytes_by_rematerialise(base) if base else {})
    for path in (args.workdir / "benchmark.md", *([args.document] if args.document else [])):
        write_text(path, report)
    print(report)


def _measure(name: str, args: Any) -> Measured:
    setting, workdir = train_settings.setting(name), args.workdir.resolve()
    data, updates = str(Path(args.data).resolve()), args.updates or setting.updates
    files, params = train_settings.flags(name, data, workdir)
    experiment = train_settings.experiment(name, data, workdir)
    prepare_data(experiment.data, experiment.cleaning, experiment.trees)
    start = measure_start(workdir, files, params)
    _say(f"{name}: first update under way after {start.cold.begins:.1f} s cold, {start.warm.begins:.1f} s warm")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "JAX_COMPILATION_CACHE_DIR": str(workdir / "compiled")}
    own = [f"--setting={name}", f"--data={data}", f"--workdir={workdir}", f"--updates={updates}"]
    ours = Side("ours", [sys.executable, "-m", "benchmarks.train_ours", *own], environment)
    peer = _peer(args, workdir / name, environment) if args.peers else None
    if peer:
        require_one_model(ours.beginning, peer.beginning, experiment.model.compute_dtype)
    turns = _in_turns(ours, peer, args.pairs)
    parts = ours.ask("profile")["seconds_by_part"]
    for side in (ours, peer):
        if side:
            side.end()
    return Measured(name, experiment, updates, start, ours.beginning, peer.beginning if peer else None, turns, parts)


def _peer(args: Any, folder: Path, environment: dict[str, str]) -> Side:
    compiled = ["--compile"] if args.peers_compile else []
    program = [str(args.peers_python), "-m", "benchmarks.peers.torch_transformer", str(folder), *compiled]
    peer = Side("PyTorch", program, environment | {"TORCHINDUCTOR_CACHE_DIR": str(folder / "compiled_by_torch")})
    _say(f"PyTorch is fastest with {peer.beginning['way']}")
    return peer


def require_one_model(ours: dict[str, Any], peer: dict[str, Any], dtype: ComputeDtype) -> None:
    """Of as many parameters, and to which the first batch is as likely: else speeds would say nothing."""
    likely, size = "negative_log_likelihood", "parameters"
    if ours[size] != peer[size] or not math.isclose(ours[likely], peer[likely], rel_tol=_SAME[dtype]):
        raise UserError(f"the peer's model is another: ours {ours[size]}, {ours[likely]}; {peer[size]}, {peer[likely]}")


def _in_turns(ours: Side, peer: Side | None, pairs: int) -> list[tuple[Turn, Turn | None]]:
    """Who begins changes from pair to pair."""
    found = []
    for pair in range(pairs):
        sides = [side for side in ((ours, peer) if pair % 2 == 0 else (peer, ours)) if side]
        turns = {side.name: side.turn(ours.ask("peak")["peak"]) for side in sides}
        found.append((turns["ours"], turns[peer.name] if peer else None))
        seconds = ", ".join(f"{name} {turn.seconds:.2f} s" for name, turn in turns.items())
        _say(f"pair {pair + 1}: {seconds}")
    return found


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    command.run(main)
