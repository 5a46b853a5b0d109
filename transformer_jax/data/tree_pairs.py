"""A treebank as sentence pairs, section 6.3: a sentence's words, and its linearised tree, each joined by blanks.

Files are read as `text_files` reads them, `trees.bracket_files` says what stands in them, `trees.cleaning` what goes.
"trees:builtin:SPLIT" is the built-in treebank.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from transformer_jax.config import CorpusSource, Trees, corpus_parts
from transformer_jax.data import builtin_trees
from transformer_jax.data.text_files import CorpusError, file_identity, read_lines, resolve
from transformer_jax.trees.bracket_files import parse_trees
from transformer_jax.trees.cleaning import Cleaned, Cleaning, cleaned
from transformer_jax.trees.linearisation import linearised
from transformer_jax.trees.tree import Tree, TreeError

PREFIX = "trees:"
_BUILTIN = "trees:builtin:"


def is_of_trees(source: CorpusSource) -> bool:
    """Whether all parts of a source are trees."""
    return all(part[0].startswith(PREFIX) for part in corpus_parts(source))


def tree_parts(source: CorpusSource) -> list[str]:
    """Those parts that are, "trees:PATH" each."""
    return [part[0] for part in corpus_parts(source) if part[0].startswith(PREFIX)]


def cleaned_trees(part: str, directory: str, trees: Trees) -> Iterator[Cleaned]:
    """The trees of "trees:PATH", in order, without what `trees` removes and without their outer labels.

    PATH is a file, "archive.zip/member", a folder, which is all files in it and below, by name, or "builtin:SPLIT".

    Raises:
        CorpusError: a file is missing, damaged or not UTF-8; there is none in the folder, or no such split.
        TreeError: what stands in it is no tree.
    """
    cleaning = Cleaning(trees.remove_traces, trees.remove_function_labels, trees.collapse_unary_loops)
    for tree in _trees(part, directory):
        yield cleaned(tree, cleaning)


def tree_pairs(part: str, directory: str, trees: Trees) -> Iterator[tuple[str, str]]:
    """The pairs of "trees:PATH"; sentences of nothing but traces are left out.

    Raises:
        CorpusError, TreeError: as `cleaned_trees`; or an outer bracket without a label is over several trees.
    """
    for number, (tree, _) in enumerate(cleaned_trees(part, directory, trees), start=1):
        if tree is None:
            continue
        try:
            yield " ".join(tree.words()), " ".join(linearised(tree, trees.leaves))
        except TreeError as error:
            raise TreeError(f"{part}, tree {number}: {error}") from error


def trees_identity(part: str, directory: str, trees: Trees) -> list[Any]:
    """Which files these are, each with its size and time of change, or which program makes them; and the settings.

    Raises:
        CorpusError: there is no such file, none in the folder, or no such split.
    """
    if part.startswith(_BUILTIN):
        _builtin(part)
        return [part, asdict(trees), hashlib.sha256(Path(builtin_trees.__file__).read_bytes()).hexdigest()]
    return [part, asdict(trees), *(file_identity(path) for path in _files(part, directory))]


def _trees(part: str, directory: str) -> Iterator[Tree]:
    if part.startswith(_BUILTIN):
        yield from _builtin(part)
    else:
        for path in _files(part, directory):
            yield from parse_trees(read_lines(path), str(path))


def _builtin(part: str) -> list[Tree]:
    try:
        return builtin_trees.builtin_trees(part.removeprefix(_BUILTIN))
    except ValueError as error:
        raise CorpusError(f"corpus {part!r}: {error}") from error


def _files(part: str, directory: str) -> list[Path]:
    name = part.removeprefix(PREFIX)
    path = resolve(directory, name)
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    if not name or not files:
        raise CorpusError(f"corpus {part!r}: {'no file in this folder' if name else 'must be trees:PATH'}")
    return files
