"""Training a run in its workdir: what `train` does, and a list of runs does for each."""

import shutil
from pathlib import Path

from experiments import workdir as workdirs
from experiments.checks import require_continuable, require_runnable
from experiments.determinism import make_deterministic
from experiments.device_memory import told_if_too_little
from experiments.parser import keep_inventory
from experiments.progress import TrainingDisplay, prepare
from experiments.provenance import launch
from experiments.workdir import WorkdirError
from transformer_jax import parallel
from transformer_jax.analysis.utilisation import utilisation_of
from transformer_jax.config import Experiment
from transformer_jax.data.batching import BatchPlan
from transformer_jax.data.prepared import PreparedData
from transformer_jax.lock import taken
from transformer_jax.training.disc import told_if_full
from transformer_jax.training.loop import Observer, train
from transformer_jax.training.metrics_log import Record


def train_in(workdir: Path, experiment: Experiment, observer: Observer, *, accept_changes: bool = False) -> int:
    """Trains in `workdir` from where it stands; returns how many updates have been made in all.

    A display of its own says what is to be said; the observer has the records too, and says when to stop. Of several
    processes the first does so; the others are silent, and leave the workdir alone.

    Raises:
      WorkdirError: it is another experiment's, or another process trains there.
      FullDiscError, DeviceMemoryError: there is no room for what is to be written, or computed.
      UserError: of the data, the settings or the checkpoints; before the first step whatever can be known then.
    """
    if (line := make_deterministic(experiment.training)) and parallel.process_index() == 0:
        observer.say(line)
    with told_if_full(Path(experiment.data.cache_directory).expanduser()):
        data = prepare(experiment.data, experiment.cleaning, experiment.trees)
    plan = require_runnable(experiment, data)
    with told_if_full(workdir), told_if_too_little("Batching.tokens_per_device", experiment):
        if parallel.process_index() == 0:
            return _train_as_first(workdir, experiment, data, plan, observer, accept_changes=accept_changes)
        silent = Observer(lambda _: None, lambda _: None, observer.should_stop, utilisation_of(experiment))
        return train(experiment, data.splits["train"], data.splits["dev"], workdir, silent)


def _train_as_first(
    workdir: Path, experiment: Experiment, data: PreparedData, plan: BatchPlan, observer: Observer, *,
    accept_changes: bool,
) -> int:  # fmt: skip
    """`train_in` of the process that has the workdir and the display."""
    if accept_changes:
        require_continuable(workdir, experiment, data.vocabulary)
    if not (workdir / "config.gin").exists():
        workdirs.claim(workdir, experiment, accept_changes=False)
    with taken(workdir / ".training.lock") as owner:
        if owner:
            raise WorkdirError(f"{workdir}: {owner} trains there")
        changes = workdirs.claim(workdir, experiment, accept_changes=accept_changes)
        workdirs.keep_vocabulary(workdir, data.vocabulary)
        keep_inventory(workdir, data.inventory)
        if changes:  # checkpoints made anew may be of the same steps as those that these were made of
            shutil.rmtree(workdir / "averaged", ignore_errors=True)
        workdirs.note_launch(workdir, launch(experiment, data, changes))
        with TrainingDisplay(experiment.training) as display:
            for line in [*(f"overridden: {change}" for change in changes), *_description(experiment, data, plan)]:
                display.say(line)

            def record(logged: Record) -> None:
                display.record(logged)
                observer.record(logged)

            shown = Observer(record, display.say, observer.should_stop, utilisation_of(experiment))
            return train(experiment, data.splits["train"], data.splits["dev"], workdir, shown)


def _description(experiment: Experiment, data: PreparedData, plan: BatchPlan) -> list[str]:
    direction = f"{experiment.data.source_language} -> {experiment.data.target_language}"
    shapes = ", ".join(" x ".join(map(str, shape)) for shape in plan.shapes)
    removed = [f"{count:,} by Cleaning.{rule}" for rule, count in data.report.removed.items() if count]
    return [
        f"{direction}: {plan.num_pairs:,} training pairs, {data.vocabulary.size:,} pieces",
        *([f"cleaned out of {data.report.read:,} pairs: {', '.join(removed)}"] if removed else []),
        f"left out: {plan.num_empty:,} pairs with an empty side, {plan.num_too_long:,} that are too long",
        f"{plan.steps_per_epoch} updates an epoch, in batches of {shapes}",
    ]
