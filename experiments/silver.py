"""Parses plain sentences to a treebank that a parser can be trained on, beside trees made by hand: section 6.3.

python -m experiments.silver --workdir=runs/parser --sentences=sentences.txt.gz --output=silver.trees

Sentences are one a line, words with blanks between them. The output has a tree a line; `OUTPUT.json` beside it says who
parsed, and what was left out: lines without words, sentences too long for the model or whose tree did not end, and
trees that needed repair. Then train on the union: Data.train = (("trees:gold.trees",), ("trees:silver.trees",)).
The same command again goes on where it was stopped or killed. Nothing that is there is overwritten.
"""

from pathlib import Path

from experiments import command
from experiments.parser import read_parser
from experiments.parsing.silver_file import SilverFile, Source, parser_of
from experiments.progress import telling
from experiments.workdir import read_experiment


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
    with telling("parsing") as tell:
        counts = silver.make(source, parser, lambda lines: tell(f"parsing: {lines:,} lines"))
    for line in counts.told():
        print(line)
    print(f"written: {args.output}, {silver.provenance}")


if __name__ == "__main__":
    command.run(main)
