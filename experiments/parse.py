"""Parses lines of standard input, words with blanks between them, to a tree a line on standard output, in order.

python -m experiments.parse --workdir=runs/parser < sentences.txt > trees.txt
python -m experiments.parse --workdir=runs/parser --pretty < sentences.txt
python -m experiments.parse --workdir=runs/parser --svg=pictures < sentences.txt > trees.txt

Each tree is well-formed and has the words of its line; brackets in them are written -LRB- and -RRB-, as treebanks do.
An empty line gives an empty line. What is wrong with a line, and what was repaired, is said on standard error and stops
nothing. --pretty draws each tree, as an outline where it is wider than the terminal; --svg makes a picture of each too.
"""

import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from experiments import command
from experiments.parser import read_parser
from experiments.parsing.lines import ParsedLine, parsed_lines
from experiments.parsing.pictures import Pictures
from experiments.translation.input_lines import rounds
from experiments.workdir import read_experiment
from transformer_jax.trees.drawing.text import text_drawing

_LINES_AT_A_TIME = 1000  # enough for batches of similar length; memory does not grow with the input


def main() -> None:
    flags = command.parser(__doc__, gin_file_required=False)
    flags.add_argument("--workdir", type=Path, required=True)
    flags.add_argument("--pretty", action="store_true", help="draw the trees, each with an empty line after it")
    flags.add_argument("--svg", type=Path, metavar="FOLDER", help="a new folder, for a picture of each line's tree")
    args = flags.parse_args()
    experiment = read_experiment(args.workdir, args.gin_file, args.gin_param)
    parser = read_parser(args.workdir, experiment)
    pictures = Pictures(args.svg) if args.svg else None
    if sys.stdin.isatty():
        print("a line, then Enter: its tree; Ctrl-D ends", file=sys.stderr)
    _write(parsed_lines(rounds(sys.stdin.buffer, _LINES_AT_A_TIME), parser), pictures, pretty=args.pretty)


def _write(parsed: Iterable[list[ParsedLine]], pictures: Pictures | None, *, pretty: bool) -> None:
    """What is wrong with a line is said before its tree appears."""
    for lines in parsed:
        for line in lines:
            for problem in line.problems:
                print(f"line {line.number} {problem}", file=sys.stderr)
            if pictures and line.tree:
                pictures.add(line.number, line.tree)
            sys.stdout.buffer.write("".join(_shown(line, pretty=pretty)).encode())
        sys.stdout.buffer.flush()


def _shown(line: ParsedLine, *, pretty: bool) -> Iterator[str]:
    if line.tree:
        yield text_drawing(line.tree, shutil.get_terminal_size().columns) if pretty else str(line.tree)
    yield "\n"


if __name__ == "__main__":
    command.run(main)
