"""Translates lines of standard input to lines of standard output: as many, in order, as they come.

python -m experiments.translate --workdir=runs/quickstart < source.txt > target.txt
"""

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from experiments import command
from experiments.weights import read_weights
from experiments.workdir import read_experiment, read_vocabulary
from transformer_jax.decoding.generate import Generator
from transformer_jax.decoding.translator import Translator
from transformer_jax.model.transformer import Transformer

_LINES_AT_A_TIME = 1000  # enough for batches of similar length; memory does not grow with the input


def main() -> None:
    flags = command.parser(__doc__, gin_file_required=False)
    flags.add_argument("--workdir", type=Path, required=True)
    args = flags.parse_args()
    experiment = read_experiment(args.workdir, args.gin_file, args.gin_param)
    vocabulary = read_vocabulary(args.workdir)
    weights = read_weights(args.workdir, experiment)
    generator = Generator(Transformer(experiment.model, vocabulary.size), weights.params, experiment.decoding)
    translator = Translator(generator, vocabulary)
    lines = _read_lines(sys.stdin.buffer)
    at_a_time = 1 if sys.stdin.isatty() else _LINES_AT_A_TIME
    first = 1
    while chunk := list(islice(lines, at_a_time)):
        for number, translation in enumerate(translator.translate(chunk), start=first):
            sys.stdout.buffer.write(translation.text.replace("\n", " ").encode() + b"\n")
            for problem in translation.problems:
                print(f"line {number} {problem}", file=sys.stderr)
        sys.stdout.buffer.flush()
        first += len(chunk)


def _read_lines(stream: BinaryIO) -> Iterator[str]:
    """Lines end at "\\n" and nowhere else. What is not UTF-8 is told and replaced, and stops nothing."""
    for number, line in enumerate(stream, start=1):
        line = line.removesuffix(b"\n")
        try:
            yield line.decode()
        except UnicodeDecodeError as error:
            print(f"line {number} is not UTF-8 ({error.reason} at byte {error.start})", file=sys.stderr)
            yield line.decode(errors="replace")


if __name__ == "__main__":
    command.run(main)
