"""Shows what each head looks at while a trained model reads a sentence: Figures 3 to 5 of the paper.

python -m experiments.attention_maps --workdir=runs/quickstart --sentence="twenty-one kilometres" --stack=source
python -m experiments.attention_maps --workdir=runs/quickstart --statistics --split=test

A sentence gives a page that needs nothing but a browser, with all stacks, layers and heads, and two pictures, as PNG
and SVG: `lines` of what is chosen, and `heads`, all heads of the layer. They are written into a new folder in the run's
`attention`, or into --into. Without --target the model's own translation is read.

Statistics of every head over a split, against its references, are written to the run's attention.md and attention.json.
"""

from pathlib import Path

from experiments import command
from experiments.attention.files import new_folder, write
from experiments.attention.run import read_run
from experiments.attention.seen import see
from experiments.attention.statistics import write_statistics
from experiments.attention.view import add_flags, view_of
from experiments.workdir import read_experiment
from transformer_jax.data.prepared import SPLITS


def parser() -> command.Parser:
    flags = command.parser(__doc__, gin_file_required=False)
    flags.add_argument("--workdir", type=Path, required=True)
    flags.add_argument("--sentence", help="in the form of the run's training text")
    flags.add_argument("--target", help="the translation that is read; the model's own if not given")
    flags.add_argument("--into", type=Path, metavar="FOLDER", help="a new folder")
    add_flags(flags)
    flags.add_argument("--statistics", action="store_true", help="of every head over a split, in place of a sentence")
    flags.add_argument("--split", choices=SPLITS, default="test")
    return flags


def main() -> None:
    flags = parser()
    args = flags.parse_args()
    if (args.sentence is None) != args.statistics:
        flags.error("one of --sentence and --statistics is required")
    run = read_run(args.workdir, read_experiment(args.workdir, args.gin_file, args.gin_param))
    if args.statistics:
        written = write_statistics(run, args.split)
    else:
        seen = see(run, args.sentence, args.target)
        view = view_of(args, seen)
        written = write(seen, view, new_folder(args.into, args.workdir))
        print(f"{'given' if seen.given else 'translation'}: {seen.target}")
    print(f"written: {', '.join(map(str, written))}")


if __name__ == "__main__":
    command.run(main)
