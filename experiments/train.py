"""Trains an experiment in a workdir; the same command again goes on where it stopped.

python -m experiments.train --gin_file=gin_configs/quickstart.gin --workdir=runs/quickstart
"""

import shutil
import signal
from pathlib import Path

from experiments import command, workdir
from experiments.checks import require_continuable, require_runnable
from experiments.gin_bindings import load_experiment
from experiments.progress import TrainingDisplay
from experiments.provenance import provenance
from transformer_jax.config import Experiment
from transformer_jax.data.batching import BatchPlan
from transformer_jax.data.prepared import PreparedData, prepare_data
from transformer_jax.training.loop import Observer, train


def main() -> None:
    flags = command.parser(__doc__, gin_file_required=True)
    flags.add_argument("--workdir", type=Path, required=True)
    flags.add_argument(
        "--accept_changes", action="store_true", help="go on with settings other than the run began with"
    )
    args = flags.parse_args()
    experiment = load_experiment(args.gin_file, args.gin_param)
    data = prepare_data(experiment.data)
    plan = require_runnable(experiment, data)
    if args.accept_changes:
        require_continuable(args.workdir, experiment, data.vocabulary)
    changes = workdir.claim(args.workdir, experiment, accept_changes=args.accept_changes)
    workdir.keep_vocabulary(args.workdir, data.vocabulary)
    if changes:  # checkpoints made anew may be of the same steps as those that these were made of
        shutil.rmtree(args.workdir / "averaged", ignore_errors=True)
    workdir.note_launch(args.workdir, provenance())
    stop = _StopOnSignal()
    with TrainingDisplay(experiment.training) as display:
        for line in [*(f"overridden: {change}" for change in changes), *_description(experiment, data, plan)]:
            display.say(line)
        observer = Observer(display.record, display.say, stop)
        train(experiment, data.splits["train"], data.splits["dev"], args.workdir, observer)


def _description(experiment: Experiment, data: PreparedData, plan: BatchPlan) -> list[str]:
    direction = f"{experiment.data.source_language} -> {experiment.data.target_language}"
    shapes = ", ".join(f"{rows} x {length}" for rows, length in plan.shapes)
    return [
        f"{direction}: {plan.num_pairs:,} training pairs, {data.vocabulary.size:,} pieces",
        f"left out: {plan.num_empty:,} pairs with an empty side, {plan.num_too_long:,} that are too long",
        f"{plan.steps_per_epoch} updates an epoch, in batches of {shapes}",
    ]


class _StopOnSignal:
    """True once SIGTERM or SIGINT has come. A second one ends the process at once, as usual."""

    def __init__(self) -> None:
        self._received = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._receive)

    def _receive(self, number: int, _frame: object) -> None:
        self._received = True
        signal.signal(number, signal.SIG_DFL)

    def __call__(self) -> bool:
        return self._received


if __name__ == "__main__":
    command.run(main)
