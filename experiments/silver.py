"""Parses plain sentences to a treebank that a parser can be trained on, beside trees made by hand: section 6.3.

python -m experiments.silver --workdir=runs/parser --sentences=sentences.txt.gz --output=silver.trees

Sentences are one a line, words with blanks between them. The output has a tree a line; `OUTPUT.json` beside it says who
parsed, and what was left out: lines without words, sentences too long for the model or whose tree did not end, and
trees that needed repair. Then train on the union: Data.train = (("trees:gold.trees",), ("trees:silver.trees",)).
The same command again goes on where it was stopped or killed. Nothing that is there is overwritten.
"""

import time
from pathlib import Path

from rich.console import Console

from experiments import command
from experiments.parser import read_parser
from experiments.parsing.silver_file import SilverFile, Source, parser_of
from experiments.workdir import read_experiment

_SECONDS_BETWEEN_LINES = 10.0


def main() -> None:
    flags = command.parser(__doc__, gin_file_required=False)
    flags.add_argument("--workdir", type=Path, required=True, help="of the trained parser")
    flags.add_argument("--sentences", type=Path, required=True, help="plain, .gz, or in a zip archive")
    flags.add_argument("--output", type=Path, required=True)
    args = flags.parse_args()
    silver = SilverFile(args.output)
    silver.require_free()  # before any time is spent
    experiment = read_experiment(args.workdir, args.gin_file, args.gin_param)
    source = Source(args.sentences, parser_of(args.workdir, experiment))
    parser = read_parser(args.workdir, experiment)
    console, last = Console(stderr=True, soft_wrap=True, highlight=False), time.monotonic()
    with console.status("parsing") as status:

        def show(lines: int) -> None:
            nonlocal last
            status.update(f"parsing: {lines:,} lines")
            if not console.is_terminal and time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
                console.print(f"parsing: {lines:,} lines", markup=False)
                last = time.monotonic()

        counts = silver.make(source, parser, show)
    for line in counts.told():
        print(line)
    print(f"written: {args.output}, {silver.provenance}")


if __name__ == "__main__":
    command.run(main)
