"""BLEU by how many checkpoints of a finished run are averaged, and by how far these are apart (section 6.1).

python -m experiments.averaging --workdir=runs/multi30k_tiny --split=dev --counts=1,2,5,10 --spacings=1,2

Writes averaging.md, averaging.png and averaging.json into the run's folder, and changes nothing else there. What was
scored is kept: the same command again goes on where it was stopped, and one with other counts adds to the table.
"""

from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, TaskID

from experiments import command
from experiments.averages.chosen import Average, averages, positive_numbers
from experiments.averages.scores import Kept, Scorer, checkpoint_steps
from experiments.averages.table import markdown, write_picture
from experiments.workdir import WorkdirError, read_experiment, write_text


def main() -> None:
    flags = command.parser(__doc__, gin_file_required=False)
    flags.add_argument("--workdir", type=Path, required=True)
    flags.add_argument("--split", choices=("dev", "test"), default="dev")
    flags.add_argument("--counts", default="1,2,5,10", help="numbers with commas between them")
    flags.add_argument("--spacings", default="1,2", help="1: neighbours; 2: every second")
    args = flags.parse_args()
    experiment = read_experiment(args.workdir, args.gin_file, args.gin_param)
    steps = checkpoint_steps(args.workdir, experiment)
    asked = averages(positive_numbers("--counts", args.counts), positive_numbers("--spacings", args.spacings))
    kept = Kept(args.workdir, experiment, steps)
    missing = [average for average in asked if average.of(steps) and average not in kept.of(args.split)]
    if missing:
        _score(Scorer(args.workdir, experiment, args.split), kept, args.split, missing)
    by_split = {split: kept.of(split) for split in kept.splits()}
    if not by_split:
        raise WorkdirError(f"{args.workdir} keeps {len(steps)} checkpoints: too few for any of these averages")
    table = markdown(args.workdir.name, by_split, [average for average in asked if not average.of(steps)])
    write_text(args.workdir / "averaging.md", table)
    write_picture(args.workdir / "averaging.png", args.workdir.name, by_split)
    print(f"{table}\nwritten: {args.workdir / 'averaging.md'}, {args.workdir / 'averaging.png'}")


def _score(scorer: Scorer, kept: Kept, split: str, missing: list[Average]) -> None:
    with Progress(console=Console(stderr=True), transient=True) as progress:
        for average in missing:
            name = f"{average.count} checkpoints, spacing {average.spacing}"
            show = partial(_show, progress, progress.add_task(name, total=scorer.sentences))
            kept.add(split, average, scorer(average, show))


def _show(progress: Progress, task: TaskID, done: int) -> None:
    progress.update(task, completed=done)


if __name__ == "__main__":
    command.run(main)
