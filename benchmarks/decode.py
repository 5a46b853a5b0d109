"""How fast a trained model translates: the search beside CTranslate2, with the same weights, rules and threads.

python -m benchmarks.decode --workdir=runs/bench_decode --run=runs/multi30k_tiny

On the run's test set, or the lines of --source. Both sides begin and end with pieces, in float32 and on all cores, in
one process; they take turns, and their speeds are compared pair by pair. CTranslate2 has the settings that it is
fastest with here. The exported model and what is compiled stay in the workdir; benchmark.md is written there.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.ctranslate2_side import Side, Translated, fastest, seconds_of
from benchmarks.decode_profile import Compilations, milliseconds_of_a_step, seconds_by_program
from benchmarks.decode_report import Measured, render
from benchmarks.translate_process import measure_process
from experiments import command
from experiments.export import export
from experiments.weights import read_weights
from experiments.workdir import read_experiment, read_vocabulary, write_text
from transformer_jax.config import Experiment
from transformer_jax.data.prepared import read_split
from transformer_jax.data.text_files import read_lines
from transformer_jax.decoding.generate import Generator
from transformer_jax.errors import UserError
from transformer_jax.model.transformer import Transformer
from transformer_jax.special_ids import EOS_ID

_COMMON = [
    *("Model.compute_dtype = 'float32'", "Decoding.beam_size = 4", "Decoding.length_penalty = 0.6"),
    *("Decoding.max_length_ratio = 1.0", "Decoding.max_extra_length = 50", "Decoding.min_length_ratio = 0.0"),
    "Decoding.sampling_temperature = None",
]
# What CTranslate2 knows too, and the paper's.
_PLAIN = [*_COMMON, "Decoding.length_penalty_offset = 0.0", "Decoding.stop = 'beam_finished'"]
_PAPER = [*_COMMON, "Decoding.length_penalty_offset = 5.0", "Decoding.stop = 'bound'"]


def main() -> None:
    flags = command.Parser(__doc__)
    flags.add_argument("--workdir", type=Path, required=True)
    flags.add_argument("--run", type=Path, required=True, help="the workdir of a trained run")
    flags.add_argument("--source", type=Path, help="lines to translate; without it, those of the run's test set")
    flags.add_argument("--pairs", type=int, default=5, help="how often each side translates them")
    args = flags.parse_args()
    if args.pairs < 1:
        raise UserError(f"--pairs={args.pairs}: must be at least 1")
    args.workdir.mkdir(parents=True, exist_ok=True)
    lines = _lines(read_experiment(args.run, [], _PLAIN), args.source)
    report = render(_measure(args.workdir, args.run, lines, args.pairs))
    write_text(args.workdir / "benchmark.md", report)
    print(report)


def _lines(experiment: Experiment, path: Path | None) -> list[str]:
    """Those that hold something to translate."""
    lines = read_lines(path) if path else read_split(experiment.data, experiment.trees, "test").sources
    return [line for line in lines if line.strip()]


def _measure(workdir: Path, run: Path, lines: list[str], pairs: int) -> Measured:
    process = measure_process(workdir, run, lines, _PLAIN)  # first: see there
    _say(f"first line after {process.cold:.1f} s cold, {process.warm:.1f} s warm")
    plain, paper = (read_experiment(run, [], params) for params in (_PLAIN, _PAPER))
    vocabulary, longest = read_vocabulary(run), plain.model.max_length
    params, model = read_weights(run, plain).params, Transformer(plain.model, vocabulary.size)
    sources = [[*ids[: longest - 1], EOS_ID] for ids in vocabulary.encode_all(lines)]
    compilations = Compilations()
    generator = Generator(model, params, plain.decoding)
    ours = _our_side(generator, sources)
    ours.translate()
    compiled = compilations.so_far()
    other = _other_side(workdir, run, plain, sources)
    _say(f"CTranslate2 is fastest with {other.name}")
    seconds = _in_turns(ours, other, pairs)
    as_paper = _our_side(Generator(model, params, paper.decoding), sources)
    found_as_paper = as_paper.read(as_paper.translate())
    return Measured(
        lines=lines,
        ours=ours.read(ours.translate()),
        other=other.read(other.translate()),
        other_name=other.name,
        seconds=seconds,
        as_paper=found_as_paper,
        seconds_as_paper=[seconds_of(as_paper) for _ in range(pairs)],
        process=process,
        compiled=compiled,
        by_program=seconds_by_program(generator, sources),
        step=milliseconds_of_a_step(model, params, plain.decoding, sources),
    )


def _our_side(generator: Generator, sources: Sequence[Sequence[int]]) -> Side:
    def read(found: Any) -> list[Translated]:
        return [Translated(own[0].ids, own[0].score) for own in found]

    return Side("ours", lambda: generator.generate(sources), read)


def _other_side(workdir: Path, run: Path, experiment: Experiment, sources: Sequence[Sequence[int]]) -> Side:
    folder = workdir / "ctranslate2"
    shutil.rmtree(folder, ignore_errors=True)
    export(run, experiment, "ctranslate2", folder)
    decoding = experiment.decoding
    limits = [min(len(source) + decoding.max_extra_length, experiment.model.max_length) for source in sources]
    return fastest(folder, sources, limits)


def _in_turns(ours: Side, other: Side, pairs: int) -> list[tuple[float, float]]:
    """Seconds of each, pair by pair; who begins changes from pair to pair."""
    found = []
    for pair in range(pairs):
        sides = (ours, other) if pair % 2 == 0 else (other, ours)
        seconds = {side.name: seconds_of(side) for side in sides}
        found.append((seconds[ours.name], seconds[other.name]))
        _say(f"pair {pair + 1}: ours {found[-1][0]:.2f} s, CTranslate2 {found[-1][1]:.2f} s")
    return found


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    command.run(main)
