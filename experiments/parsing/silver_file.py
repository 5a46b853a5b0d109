"""A treebank of predicted trees, made part by part, so that a run that was killed goes on; see `experiments.silver`."""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import jax
import numpy as np

from experiments.gin_bindings import resolved
from experiments.parsing.silver_parts import Counts, read_part, write_part
from experiments.provenance import provenance
from experiments.weights import read_weights
from experiments.workdir import read_vocabulary, whole_file, write_text
from transformer_jax.config import Experiment
from transformer_jax.data.text_files import read_lines
from transformer_jax.decoding.parser import Parser
from transformer_jax.errors import UserError
from transformer_jax.lock import taken

_LINES_A_PART = 1000


class SilverError(UserError):
    """A silver treebank that cannot be made as asked: the message names the file."""


@dataclass(frozen=True)
class Source:
    """What determines a silver treebank."""

    sentences: Path
    parser: dict[str, Any]  # as `parser_of` says

    def identity(self) -> dict[str, Any]:
        return {"sentences_sha256": _digest(self.sentences), "parser": self.parser}


def parser_of(workdir: Path, experiment: Experiment) -> dict[str, Any]:
    """Who parses: a run's weights, vocabulary and settings, so that another who has them gets the same trees."""
    weights = read_weights(workdir, experiment)
    digest = hashlib.sha256()
    for path, values in sorted(jax.tree_util.tree_leaves_with_path(weights.params), key=lambda leaf: str(leaf[0])):
        digest.update(f"{path} {values.shape}".encode() + np.asarray(values, "<f4").tobytes())
    return {
        "workdir": str(workdir),
        "checkpoint_steps": weights.steps,
        "weights_sha256": digest.hexdigest(),
        "vocabulary_sha256": read_vocabulary(workdir).fingerprint,
        "settings": json.loads(json.dumps(resolved(experiment))),
    }


class SilverFile:
    """The treebank at `output`. Until it is whole, its parts lie in a folder beside it."""

    def __init__(self, output: Path):
        self.output = output
        self.provenance = output.with_name(f"{output.name}.json")
        self._parts = output.with_name(f"{output.name}.parts")

    def require_free(self) -> None:
        """Raises SilverError if something is there that is not an unfinished part of this."""
        if self.output.suffix == ".gz":
            raise SilverError(f"--output={self.output}: is written as plain text, so it must not end in .gz")
        for path in (self.output, *([] if self._parts.is_dir() else [self.provenance])):
            if path.exists():
                raise SilverError(f"{path} is there already: choose another --output")
        if not self.output.parent.is_dir():
            raise SilverError(f"{self.output.parent} is no folder: make it first")

    def make(self, source: Source, parser: Parser, on_progress: Callable[[int], None] = lambda _: None) -> Counts:
        """Parses what is not parsed yet, then puts the parts together.

        Args:
          on_progress: told how many lines are done.

        Raises:
          SilverError: the parts that are there are of other sentences or another parser, or another process makes them.
          CorpusError: the sentences cannot be read.
        """
        self.require_free()
        identity = source.identity()
        self._parts.mkdir(exist_ok=True)
        with taken(self._parts / ".lock") as owner:
            if owner:
                raise SilverError(f"{self._parts}: {owner} works there")
            self.require_free()  # it may be done since
            self._require_same(identity)
            lines = read_lines(source.sentences)
            made: list[Path] = []
            while chunk := list(islice(lines, _LINES_A_PART)):
                path = self._parts / f"{len(made):06}.json"
                if not path.exists():
                    write_part(path, chunk, parser, first=len(made) * _LINES_A_PART)
                made.append(path)
                on_progress((len(made) - 1) * _LINES_A_PART + len(chunk))
            counts = self._put_together(made, source, identity)
            shutil.rmtree(self._parts)
        return counts

    def _require_same(self, identity: dict[str, Any]) -> None:
        path = self._parts / "identity.json"
        if path.exists() and json.loads(path.read_text(encoding="utf-8")) != identity:
            raise SilverError(f"{self._parts} holds parts of other sentences, or by another parser: delete it")
        write_text(path, json.dumps(identity))

    def _put_together(self, parts: list[Path], source: Source, identity: dict[str, Any]) -> Counts:
        """The provenance stands before the trees do, which are the sign that all is done."""
        counts = Counts()
        with whole_file(self.output) as temporary:
            with temporary.open("w", encoding="utf-8") as file:
                for trees, own in map(read_part, parts):
                    counts.add(own)
                    file.writelines(f"{tree}\n" for tree in trees)
            if not counts.trees:
                raise SilverError(f"{source.sentences}: no tree is left of {counts.lines:,} lines")
            told = {"trees": counts.trees, "lines": counts.lines, "left_out": counts.left_out}
            told |= {"repairs_of_trees_left_out": counts.repairs, "trees_sha256": _digest(temporary)}
            told |= {"sentences": str(source.sentences), **identity, **provenance()}
            write_text(self.provenance, json.dumps(told, indent=2, ensure_ascii=False) + "\n")
        return counts


def _digest(path: Path) -> str:
    """Of the text, whether or not it is compressed."""
    digest = hashlib.sha256()
    for line in read_lines(path):
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()
