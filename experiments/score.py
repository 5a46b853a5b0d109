"""Scores given translations with a run's model: a line out for each pair of lines, in order, as they are read.

python -m experiments.score --workdir=runs/quickstart --source=test.en --target=test.de

A line is `score<TAB>log P`: the score by which translations of one source are ranked, log P / length penalty, and the
natural logarithm of the probability of the whole translation, its end included.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from experiments import command
from experiments.weights import read_weights
from experiments.workdir import read_experiment, read_vocabulary
from transformer_jax.data.text_files import parallel_pairs
from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.decoding.forced import Forced, ForcedDecoder
from transformer_jax.decoding.pair_batches import Pair
from transformer_jax.model.embedding import SequenceTooLongError, require_length
from transformer_jax.model.transformer import Transformer
from transformer_jax.special_ids import EOS_ID

_PAIRS_AT_A_TIME = 4000  # enough for batches of similar length; memory does not grow with the files


def main() -> None:
    flags = command.parser(__doc__, gin_file_required=False)
    flags.add_argument("--workdir", type=Path, required=True)
    flags.add_argument("--source", type=Path, required=True, help="text, a sentence a line; may end in .gz")
    flags.add_argument("--target", type=Path, required=True, help="its translations, line by line")
    form = flags.add_mutually_exclusive_group()
    form.add_argument("--tokens", action="store_true", help="after a further tab each, token:log P of every token")
    form.add_argument("--json", action="store_true", help="JSON lines: score, log_prob, tokens, token_log_probs")
    args = flags.parse_args()
    experiment = read_experiment(args.workdir, args.gin_file, args.gin_param)
    vocabulary = read_vocabulary(args.workdir)
    params = read_weights(args.workdir, experiment).params
    decoder = ForcedDecoder(Transformer(experiment.model, vocabulary.size), params, experiment.decoding)
    for pairs in _pairs(args.source, args.target, vocabulary, experiment.model.max_length):
        for pair, forced in zip(pairs, decoder.score(pairs), strict=True):
            tokens = vocabulary.tokens(pair.target) if args.json or args.tokens else []
            line = _json(tokens, forced) if args.json else _tabbed(tokens, forced)
            sys.stdout.buffer.write(f"{line}\n".encode())
        sys.stdout.buffer.flush()


def _pairs(source: Path, target: Path, vocabulary: Vocabulary, longest: int) -> Iterator[list[Pair]]:
    """Some at a time.

    Raises:
      CorpusError: as `parallel_pairs`.
      SequenceTooLongError: a sentence has more than `longest` tokens, its end token included.
    """
    lines = parallel_pairs(source, target)
    first = 1
    while chunk := list(islice(lines, _PAIRS_AT_A_TIME)):
        texts = zip(*chunk, strict=True)
        sides = [
            _encoded(path, first, text, vocabulary, longest) for path, text in zip((source, target), texts, strict=True)
        ]
        yield [Pair(*pair) for pair in zip(*sides, strict=True)]
        first += len(chunk)


def _encoded(path: Path, first: int, lines: Sequence[str], vocabulary: Vocabulary, longest: int) -> list[list[int]]:
    """Ids with the end token; `first` is the number of the first line."""
    encoded = [[*ids, EOS_ID] for ids in vocabulary.encode_all(list(lines))]
    for number, ids in enumerate(encoded, start=first):
        try:
            require_length(len(ids), longest)
        except SequenceTooLongError as error:
            raise SequenceTooLongError(f"{path}, line {number}: {error}") from error
    return encoded


def _tabbed(tokens: Sequence[str], forced: Forced) -> str:
    each = zip(tokens, forced.token_log_probs, strict=False)
    return "\t".join(
        [f"{forced.score:.6f}", f"{forced.log_prob:.6f}", *(f"{token}:{log_prob:.6f}" for token, log_prob in each)]
    )


def _json(tokens: Sequence[str], forced: Forced) -> str:
    return json.dumps({"score": forced.score, "log_prob": forced.log_prob, "tokens": tokens,
                       "token_log_probs": forced.token_log_probs}, ensure_ascii=False)  # fmt: skip


if __name__ == "__main__":
    command.run(main)
