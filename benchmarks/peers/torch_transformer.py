"""PyTorch's nn.Transformer made the paper's model, and its loop over batches: a program of its own.

python -m benchmarks.peers.torch_transformer FOLDER [--compile]

Of the folder it reads settings.json, batches.npz and params.npz, which `benchmarks.train_peer` writes. It chooses how
it is fastest here and says so in a line of JSON; then, for each line that it reads, it makes an update of each batch,
in order, and says how long that took. It needs what requirements-peers.txt names, and nothing of ours.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.peers.torch_loop import Batch, Loop, all_positions, fastest
from benchmarks.peers.torch_model import PAD_ID, Transformer, load_params


def negative_log_likelihood(model: Transformer, batch: Batch) -> float:
    """A token's, without dropout: what shows that both sides have one model."""
    model.eval()  # with gradients, else other code would run
    loss = all_positions(model(batch.source, batch.target), model.table, batch, 0.0).item()
    model.train()
    return loss


def read_batches(path: Path, device: torch.device) -> list[Batch]:
    with np.load(path) as arrays:
        sides = [[torch.from_numpy(arrays[f"{side}_{i}"]).long() for side in ("source", "target")]
                 for i in range(len(arrays.files) // 2)]  # fmt: skip
    return [Batch(s.to(device), t.to(device), (t != PAD_ID).flatten().nonzero()[:, 0].to(device)) for s, t in sides]


def most_memory() -> float:
    """GiB that this process had resident at most; the kernel counts from its start on (VmHWM)."""
    lines = Path("/proc/self/status").read_text().split("\n")
    return next(int(line.split()[1]) / 2**20 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    folder, may_compile = Path(sys.argv[1]), "--compile" in sys.argv[2:]
    settings = json.loads((folder / "settings.json").read_text())
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_num_threads(settings["threads"])
    torch.set_flush_denormal(True)
    torch._dynamo.config.recompile_limit = 64
    torch._inductor.config.fallback_random = True  # dropout as fast as it is uncompiled, on CPUs
    batches = read_batches(folder / "batches.npz", device)
    model = Transformer(settings).to(device)
    with np.load(folder / "params.npz") as params:
        load_params(model, params)
    first = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "negative_log_likelihood": negative_log_likelihood(model, batches[0]),
    }
    loop = Loop(model, settings)
    commonest = Counter(batch.target.shape for batch in batches).most_common(1)[0][0]
    way, seconds = fastest(loop, next(b for b in batches if b.target.shape == commonest), may_compile=may_compile)
    by_shape = {(batch.source.shape, batch.target.shape): batch for batch in batches}
    loop.seconds(list(by_shape.values()), way)
    _say(
        {
            **first,
            "version": torch.__version__,
            "way": str(way),
            "seconds_by_way": seconds,
            "threads": torch.get_num_threads(),
        }
    )
    for _ in sys.stdin:
        _say({"seconds": loop.seconds(batches, way), "gib": most_memory()})


def _say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
