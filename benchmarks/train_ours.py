"""Our side of `benchmarks.train`, a process of its own: updates as `transformer_jax.training.loop` makes them.

It compiles a setting's step for each shape and says in a line of JSON what that took; then, for each line that it
reads, it makes the setting's updates ("go"), measures the matrix product's peak ("peak"), or tells where the time of
an update goes ("profile"), and answers with a line.
"""

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import jax

from benchmarks import train_settings
from benchmarks.train_memory import most_memory, step_bytes
from benchmarks.train_peer import write_for_peers
from benchmarks.train_profile import seconds_by_part
from experiments import command
from transformer_jax import parallel
from transformer_jax.analysis.cost import training_flops
from transformer_jax.analysis.matmul_peak import matmul_peak
from transformer_jax.data.prefetch import prefetched
from transformer_jax.data.prepared import prepare_data
from transformer_jax.model.transformer import Transformer
from transformer_jax.special_ids import PAD_ID
from transformer_jax.training.loop import batch_plan
from transformer_jax.training.optimizer import make_optimizer
from transformer_jax.training.step import initial_state, make_evaluation_step, make_train_step

_BATCHES_AHEAD = 4  # as in the loop


class Updates:
    """The first updates of a run, again and again."""

    def __init__(self, name: str, directory: str, workdir: Path, updates: int):
        self.experiment = train_settings.experiment(name, directory, workdir)
        self.split = prepare_data(self.experiment.data, self.experiment.cleaning, self.experiment.trees).splits["train"]
        self.plan = batch_plan(self.experiment, self.split)
        self.model = Transformer(self.experiment.model, self.experiment.data.vocab_size)
        self.batches = [self.plan.batch(self.split, number) for number in range(updates)]
        optimizer = make_optimizer(self.experiment)
        self.step = parallel.on_all_devices(
            make_train_step(self.model, optimizer, self.experiment.training), donate_state=True, num_shared=1
        )
        self.state = parallel.replicate(initial_state(self.model, optimizer, self.experiment.training.seed))

    def shards(self, number: int) -> Any:
        """Of the batch of an update, read anew."""
        tokens = self.experiment.batching.tokens_per_device
        return parallel.shard(self.plan.batch(self.split, number), tokens_per_device=tokens)

    def make(self, numbers: list[int]) -> float:
        """Seconds of these updates, from the first batch's making to the last update's end."""
        started = time.monotonic()
        for shards in prefetched(self.shards, numbers, ahead=_BATCHES_AHEAD):
            self.state, metrics = self.step(self.state, shards, self.experiment.training.seed)
        jax.block_until_ready((self.state, metrics))
        return time.monotonic() - started

    def one_of_each_shape(self) -> list[int]:
        """The first update of each, the commonest shape's first."""
        shapes = [(batch.source.shape, batch.target.shape) for batch in self.batches]
        return [shapes.index(shape) for shape, _ in Counter(shapes).most_common()]


def main() -> None:
    flags = command.Parser(__doc__)
    flags.add_argument("--setting", required=True, choices=train_settings.NAMES)
    flags.add_argument("--data", required=True)
    flags.add_argument("--workdir", type=Path, required=True)
    flags.add_argument("--updates", type=int, required=True)
    args = flags.parse_args()
    updates = Updates(args.setting, args.data, args.workdir, args.updates)
    _answer(_beginning(updates, args.workdir / args.setting))
    everything = list(range(args.updates))
    for line in sys.stdin:
        asked = line.strip()
        if asked == "go":
            _answer({"seconds": updates.make(everything), "gib": most_memory()})
        elif asked == "peak":
            _answer({"peak": matmul_peak(updates.experiment.model.compute_dtype)})
        elif asked == "profile":
            _answer({"seconds_by_part": seconds_by_part(updates)})


def _beginning(updates: Updates, folder: Path) -> dict[str, Any]:
    """What is known before the first turn; what a peer needs is written into the folder on the way."""
    experiment, batches = updates.experiment, updates.batches
    numbers = updates.one_of_each_shape()
    write_for_peers(folder, experiment, updates.state.params, batches)
    evaluate = parallel.on_all_devices(make_evaluation_step(updates.model), donate_state=False)
    first = evaluate(updates.state.params, updates.shards(0))
    memory = step_bytes(experiment, experiment.data.vocab_size, updates.shards(numbers[0]))
    compiling = updates.make(numbers)
    return {
        "parameters": sum(leaf.size for leaf in jax.tree.leaves(updates.state.params)),
        "negative_log_likelihood": float(first.negative_log_likelihood / first.tokens),
        "shapes": len(numbers),
        "compile_seconds": compiling - updates.make(numbers),
        "step_bytes": memory.chunked,
        "dense_step_bytes": memory.dense,
        **_of_batches(updates),
    }


def _of_batches(updates: Updates) -> dict[str, float]:
    """Tokens that are no padding, positions of both sides, and operations of the real pairs, each of its own length."""
    model, size, batches = updates.experiment.model, updates.experiment.data.vocab_size, updates.batches
    pairs = [
        (int(source), int(target))
        for batch in batches
        for source, target in zip(*((side != PAD_ID).sum(1) for side in batch), strict=True)
    ]
    tokens = [sum(side) for side in zip(*pairs, strict=True)]
    return {
        "target_tokens": tokens[1],
        "padding": 1 - sum(tokens) / sum(side.size for batch in batches for side in batch),
        "flops": sum(training_flops(model, size, source=source, target=target) for source, target in pairs),
    }


def _answer(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    command.run(main)
