"""Translates lines of standard input to lines of standard output: as many, in order, as they come.

python -m experiments.translate --workdir=runs/quickstart < source.txt > target.txt
python -m experiments.translate --workdir=runs/quickstart --nbest=4 --scores --alignments < source.txt

Columns stand before the text, with tabs between them, in this order: the line's number (with --nbest), the score (with
--nbest or --scores), the log-probability in nats (with --scores), the alignment (with --alignments). --json has all of
them in an object for each line. What is wrong with a line is said on standard error and stops nothing.
"""

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from experiments import command
from experiments.translation.formats import Format, Translated, as_json, in_columns
from experiments.translation.input_lines import Round, rounds, with_prefixes
from experiments.weights import read_weights
from experiments.workdir import read_experiment, read_vocabulary
from transformer_jax.decoding.alignments import Aligner, Links
from transformer_jax.decoding.generate import Generator
from transformer_jax.decoding.pair_batches import Pair
from transformer_jax.decoding.translator import Translator
from transformer_jax.errors import UserError
from transformer_jax.model.transformer import Transformer

_LINES_AT_A_TIME = 1000  # enough for batches of similar length; memory does not grow with the input


def main() -> None:
    args = _flags().parse_args()
    experiment = read_experiment(args.workdir, args.gin_file, args.gin_param)
    wanted = 1 if args.nbest is None else args.nbest
    if not 1 <= wanted <= experiment.decoding.beam_size:
        raise UserError(f"--nbest={wanted}: must be from 1 to Decoding.beam_size = {experiment.decoding.beam_size}")
    vocabulary = read_vocabulary(args.workdir)
    params = read_weights(args.workdir, experiment).params
    model = Transformer(experiment.model, vocabulary.size)
    translator = Translator(Generator(model, params, experiment.decoding), vocabulary)
    aligner = Aligner(model, params, tokens_per_batch=experiment.decoding.tokens_per_batch) if args.alignments else None
    numbers = args.nbest is not None
    columns = in_columns(numbers=numbers, scores=numbers or args.scores, log_probs=args.scores)
    if sys.stdin.isatty():
        print("a line, then Enter: its translation; Ctrl-D ends", file=sys.stderr)
    lines = with_prefixes(rounds(sys.stdin.buffer, _LINES_AT_A_TIME), args.prefixes)
    _write(_translated(lines, translator, aligner, wanted), as_json(vocabulary) if args.json else columns)


def _flags() -> argparse.ArgumentParser:
    flags = command.parser(__doc__, gin_file_required=False)
    flags.add_argument("--workdir", type=Path, required=True)
    flags.add_argument("--nbest", type=int, help="the so many best of each line, at most Decoding.beam_size")
    flags.add_argument("--scores", action="store_true", help="score and log-probability")
    flags.add_argument(
        "--alignments",
        action="store_true",
        help='pairs of a source and a target token, from 0, as in "0-0 2-1": where the last layer attends most',
    )
    flags.add_argument("--json", action="store_true", help="JSON lines, which show the tokens too")
    flags.add_argument(
        "--prefixes", type=Path, help="a file with a line for each line: what its translations must begin with"
    )
    return flags


def _translated(
    rounds: Iterable[Round], translator: Translator, aligner: Aligner | None, wanted: int
) -> Iterator[list[Translated]]:
    """Round by round, the `wanted` best of each line."""
    first = 1
    for lines, prefixes in rounds:
        found = [
            each._replace(hypotheses=each.hypotheses[:wanted], texts=each.texts[:wanted])
            for each in translator.translate([line.text for line in lines], prefixes=prefixes, first=first - 1)
        ]
        pairs = [Pair(each.source, hypothesis.ids) for each in found for hypothesis in each.hypotheses]
        links: Iterator[Links | None] = iter(aligner.links(pairs) if aligner else [None] * len(pairs))
        yield [
            Translated(
                number,
                line.text,
                each._replace(problems=line.problems + each.problems),
                [next(links) for _ in each.hypotheses],
            )
            for number, (line, each) in enumerate(zip(lines, found, strict=True), start=first)
        ]
        first += len(lines)


def _write(translated: Iterable[list[Translated]], form: Format) -> None:
    """What is wrong with a line is said before its translation appears."""
    for lines in translated:
        for line in lines:
            for problem in line.translation.problems:
                print(f"line {line.number} {problem}", file=sys.stderr)
            for row in form(line):
                sys.stdout.buffer.write(row.encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    command.run(main)
