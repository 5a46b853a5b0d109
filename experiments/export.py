"""Writes a trained model, with its vocabulary and config, in a format that other programs read.

python -m experiments.export --workdir=runs/quickstart --format=ctranslate2 --output=model

ctranslate2: for CTranslate2's Translator; its sources are tokens without an end token.
safetensors: the parameters as named arrays, in weights.safetensors.
stablehlo: these, and two programs for jax.export.deserialize, which need nothing of this package: with `weights` as
safetensors.numpy.load_file reads them, and int32 ids that end with the end token, 2, and are filled up with 0,
`logits.stablehlo` is called with (weights, source, target), `translate.stablehlo` with (weights, source, limits).

The weights are the mean of the newest checkpoints, in float32. A folder that holds something is never written to.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from experiments import command
from experiments.gin_bindings import to_gin
from experiments.weights import read_weights
from experiments.workdir import WorkdirError, read_experiment, read_vocabulary
from transformer_jax.config import Experiment
from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.model.transformer import Params, Transformer

WEIGHTS_FILE = "weights.safetensors"


def main() -> None:
    flags = command.parser(__doc__, gin_file_required=False)
    flags.add_argument("--workdir", type=Path, required=True)
    flags.add_argument("--format", choices=_FORMATS, required=True)
    flags.add_argument("--output", type=Path, required=True, help="a folder that is not there yet, or empty")
    args = flags.parse_args()
    export(args.workdir, read_experiment(args.workdir, args.gin_file, args.gin_param), args.format, args.output)


def export(workdir: Path, experiment: Experiment, format: str, output: Path) -> None:
    """What the command does.

    Raises:
      WorkdirError: nothing is trained there yet, or `output` holds something.
      ExportError: the format cannot hold this model.
    """
    with _whole_folder(output) as folder:
        vocabulary = read_vocabulary(workdir)
        _FORMATS[format](folder, experiment, read_weights(workdir, experiment).params, vocabulary)
        vocabulary.save(folder / "vocabulary.model")
        (folder / "config.gin").write_text(to_gin(experiment), encoding="utf-8")


def _ctranslate2(folder: Path, experiment: Experiment, params: Params, vocabulary: Vocabulary) -> None:
    from transformer_jax.export.ctranslate2_model import save_ctranslate2  # a large library, which only this one needs

    save_ctranslate2(folder, experiment.model, params, vocabulary)


def _safetensors(folder: Path, experiment: Experiment, params: Params, vocabulary: Vocabulary) -> None:
    from transformer_jax.export.safetensors_file import save_safetensors

    metadata = {"config": to_gin(experiment), "vocabulary_sha256": vocabulary.fingerprint}
    save_safetensors(folder / WEIGHTS_FILE, params, metadata)


def _stablehlo(folder: Path, experiment: Experiment, params: Params, vocabulary: Vocabulary) -> None:
    from transformer_jax.export.stablehlo import export_logits, export_translate

    model = Transformer(experiment.model, vocabulary.size)
    (folder / "translate.stablehlo").write_bytes(export_translate(model, params, experiment.decoding))
    (folder / "logits.stablehlo").write_bytes(export_logits(model, params))
    _safetensors(folder, experiment, params, vocabulary)


_FORMATS: dict[str, Callable[[Path, Experiment, Params, Vocabulary], None]] = {
    "ctranslate2": _ctranslate2,
    "safetensors": _safetensors,
    "stablehlo": _stablehlo,
}


@contextmanager
def _whole_folder(path: Path) -> Iterator[Path]:
    """Yields an empty folder to write to; then all of it stands at `path`, or, if writing fails, what stood before."""
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise WorkdirError(f"{path} is there already, and not an empty folder: choose another --output")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.mkdir()
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


if __name__ == "__main__":
    command.run(main)
