"""Sentence pairs from TensorFlow Datasets (WMT 2014 among them), by random access and without TensorFlow.

TFDS downloads and prepares a data set when it is first asked for, into its own data folder: TFDS_DATA_DIR, or
~/tensorflow_datasets. A sentence may hold a line end there; it stays.
"""

import contextlib
import importlib
import re
from collections.abc import Iterator
from typing import Any

from transformer_jax.data.text_files import CorpusError

# A version, as in "tfds:wmt14_translate/de-en:1.0.0:train", is part of the name.
_SOURCE = re.compile(r"tfds:([^:]+(?::\d[\d.]*)?):(.+)")
_CHUNK = 1000  # examples asked for at once
_MANUAL_ROUTE = (
    "or download the text yourself, e.g. from https://www.statmt.org/wmt14/translation-task.html, and name the files: "
    'Data.train = ("train.en", "train.de")'
)


def open_tfds(source: str, source_language: str, target_language: str) -> Any:
    """The TFDS data source of "tfds:builder/config:split", downloaded if need be.

    Raises:
        CorpusError: the text names no split, TFDS cannot provide it, or it has not these languages.
    """
    if not (match := _SOURCE.fullmatch(source)):
        raise CorpusError(f'corpus {source!r}: must be "tfds:builder/config:split"')
    examples = _provide(source, *match.groups())
    languages = sorted(examples.dataset_info.features)
    for language in (source_language, target_language):
        if language not in languages:
            raise CorpusError(f"{source}: has no language {language!r}, only {', '.join(languages)}")
    return examples


def tfds_pairs(
    source: str, examples: Any, *, source_language: str, target_language: str, start: int
) -> Iterator[tuple[str, str]]:
    """The pairs of `examples`, a data source of `open_tfds`, from number `start` on; those before are not read.

    Raises:
        CorpusError: an example is damaged or not UTF-8.
    """
    for first in range(start, len(examples), _CHUNK):
        numbers = range(first, min(first + _CHUNK, len(examples)))
        try:
            chunk = examples.__getitems__(numbers)
        except Exception as error:  # what is raised differs with the file format and with the damage
            where = f"examples {numbers[0]} to {numbers[-1]}, in {examples.dataset_info.data_dir}"
            raise CorpusError(f"{source}, {where}: {_first_line(error)}") from error
        for number, example in zip(numbers, chunk, strict=True):
            try:
                yield _text(example[source_language]), _text(example[target_language])
            except UnicodeDecodeError as error:
                raise CorpusError(f"{source}, example {number}: not UTF-8 ({error.reason})") from error


def tfds_identity(examples: Any) -> list[str | int]:
    """Name, configuration and version; bytes of all splits; and the number of examples of this one."""
    information = examples.dataset_info
    return [information.full_name, int(information.dataset_size), len(examples)]


def _provide(source: str, name: str, split: str) -> Any:
    import tensorflow_datasets as tfds  # here, because it takes a second that no other corpus should cost

    try:
        _import_builder(name)
        return tfds.data_source(name, split=split)
    # TFDS has no common base for its errors: unknown names, failed downloads and full disks each raise their own.
    except Exception as error:
        raise CorpusError(
            f"{source}: TensorFlow Datasets cannot provide it in {tfds.core.constants.DATA_DIR}: "
            f"{_first_line(error)}; {_MANUAL_ROUTE}"
        ) from error


def _import_builder(name: str) -> None:
    """Without TensorFlow, TFDS knows a translation data set only once the module that defines it is imported."""
    module = re.split("[/:]", name)[0].removesuffix("_translate")
    with contextlib.suppress(ModuleNotFoundError):  # one that is only on disk, or defined elsewhere: TFDS looks for it
        importlib.import_module(f"tensorflow_datasets.translate.{module}")


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).split("\n")[0].rstrip(".:")


def _text(value: str | bytes) -> str:
    return value.decode("utf-8") if isinstance(value, bytes) else value
