"""Train states on disk, by Orbax: what a run resumes from, and what an averaged model is made of.

Arrays are written and read as plain ones: on what devices and in how many processes they were made, no file depends.
Beside the arrays stands a manifest of their names, shapes, types and checksums, and beside the files their checksums. A
checkpoint that does not agree with these, or with the model asked for, is not used.
"""

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp
from orbax.checkpoint.checkpoint_managers import LatestN

from transformer_jax.errors import UserError
from transformer_jax.file_checksums import find_damage, has_checksums, keep_checksums
from transformer_jax.training.disc import require_room, told_if_full
from transformer_jax.training.step import TrainState

Manifest = dict[str, list]


class CheckpointError(UserError):
    """A checkpoint that cannot be used: the message names it and says why."""


def manifest(tree: Any) -> Manifest:
    """Path in the tree -> [shape, dtype, CRC-32 of the values]. A scalar counts as an array of shape [1]."""
    described = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(tree):
        array = np.ascontiguousarray(leaf)
        described[jax.tree_util.keystr(path)] = [list(array.shape), str(array.dtype), zlib.crc32(array.data)]
    return described


def newest(steps: Sequence[int], count: int, *, spacing: int = 1) -> list[int]:
    """Of ascending steps the last, and back from there every `spacing`-th; at most `count`, ascending."""
    return list(steps[::-spacing][:count][::-1])


class Checkpoints:
    """The newest `keep` train states of a run, in `directory`. One process uses it, also where a run has several."""

    def __init__(self, directory: Path, *, keep: int):
        directory.mkdir(parents=True, exist_ok=True)
        options = ocp.CheckpointManagerOptions(
            preservation_policy=LatestN(keep),
            enable_async_checkpointing=False,
            create=False,  # Orbax would wait for the other processes, as it would without the next line
            multiprocessing_options=_alone(),
        )
        self._manager = ocp.CheckpointManager(directory.absolute(), options=options)
        self.directory = directory

    @property
    def steps(self) -> list[int]:
        """Steps with a checkpoint, ascending."""
        return sorted(self._manager.all_steps())

    def save(self, state: TrainState) -> None:
        """Writes `state` under its step, whole or not at all; a step that is there already stays as it is.

        Raises:
          FullDiscError: there is no room for it. The earlier ones are as they were.
        """
        step = int(state.step)
        if step in self.steps:
            return
        parts = jax.device_get({"params": state.params, "opt_state": state.opt_state})
        require_room(self.directory, parts)
        items = {name: ocp.args.StandardSave(tree) for name, tree in parts.items()}
        described = {name: manifest(tree) for name, tree in parts.items()}
        with told_if_full(self.directory):
            self._manager.save(step, args=ocp.args.Composite(manifest=ocp.args.JsonSave(described), **items))
            keep_checksums(self.directory / str(step))

    def restore_newest(self, like: TrainState, on_damaged: Callable[[str], None]) -> TrainState | None:
        """The newest state that is whole, in the layout of `like`; None if there never was one.

        Damaged ones are told to `on_damaged`, one line each, and removed, so that the run can write them anew.

        Raises:
          CheckpointError: all are damaged, or the newest is another model's.
        """
        wanted = {"params": like.params, "opt_state": like.opt_state}
        for step in reversed(self.steps):
            try:
                parts = self._restore_all(step, wanted)
            except CheckpointError as error:
                on_damaged(str(error))
                damaged = step
                continue
            for newer in [newer for newer in self.steps if newer > step]:
                self._manager.delete(newer)
            number = jax.device_put(np.asarray(step, like.step.dtype), like.step.sharding)
            parts = jax.tree.map(lambda array, laid_out: jax.device_put(array, laid_out.sharding), parts, wanted)
            return TrainState(number, parts["params"], parts["opt_state"])
        if self.steps:
            raise CheckpointError(f"{self.directory}: no checkpoint is whole; the oldest is that of step {damaged}")
        return None

    def described(self, step: int) -> dict[str, Manifest]:
        """The manifest of each part of a checkpoint: two with the same have the same arrays.

        Raises:
          CheckpointError: it is damaged.
        """
        self._require_undamaged(step)
        return self._manifest(step)

    def clear(self) -> None:
        """Removes all of them."""
        for step in self.steps:
            self._manager.delete(step)

    def average(self, count: int, like: Any, *, spacing: int = 1) -> tuple[Any, list[int]]:
        """The mean parameters of `newest` checkpoints, summed in float64, given in float32; and their steps.

        Raises:
          CheckpointError: there is none, or one of them is damaged.
          ModelMismatchError: one of them is another model's.
        """
        steps = newest(self.steps, count, spacing=spacing)
        if not steps:
            raise CheckpointError(f"{self.directory}: holds no checkpoint")
        total = jax.tree.map(lambda leaf: np.zeros(leaf.shape, np.float64), like)
        for step in steps:
            params = self._restore(step, {"params": like})["params"]
            total = jax.tree.map(lambda a, b: a + np.asarray(b), total, params)
        return jax.tree.map(lambda leaf: (leaf / len(steps)).astype(np.float32), total), steps

    def _restore_all(self, step: int, like: dict[str, Any]) -> dict[str, Any]:
        """All parts of one checkpoint. A save that was killed before its last file, the checksums, ends here."""
        folder = self.directory / str(step)
        if has_checksums(folder):
            return self._restore(step, like)
        parts = self._read(step, like)
        keep_checksums(folder)
        return parts

    def _restore(self, step: int, like: dict[str, Any]) -> dict[str, Any]:
        """The named parts of one checkpoint whose files are what was written."""
        self._require_undamaged(step)
        return self._read(step, like)

    def _require_undamaged(self, step: int) -> None:
        folder = self.directory / str(step)
        if damage := find_damage(folder):
            raise CheckpointError(f"checkpoint {folder} is damaged: {damage}")

    def _read(self, step: int, like: dict[str, Any]) -> dict[str, Any]:
        """The named parts of one checkpoint, compared with its manifest and with `like`."""
        name, described = f"checkpoint {self.directory / str(step)}", self._manifest(step)
        if missing := sorted(like.keys() - described.keys()):
            raise CheckpointError(f"{name} is damaged: its manifest lacks {', '.join(missing)}")
        _require_same_model(name, described, like)
        items = {part: ocp.args.StandardRestore(_plain(tree)) for part, tree in like.items()}
        try:
            restored = dict(self._manager.restore(step, args=ocp.args.Composite(**items)).items())
        except Exception as error:  # as above
            raise CheckpointError(f"{name} is damaged: {_first_line(error)}") from error
        for part, tree in restored.items():
            if manifest(tree) != described[part]:
                raise CheckpointError(f"{name} is damaged: the checksums of its {part} do not agree")
        return restored

    def _manifest(self, step: int) -> dict[str, Manifest]:
        read = ocp.args.Composite(manifest=ocp.args.JsonRestore())
        try:
            return self._manager.restore(step, args=read)["manifest"]
        except Exception as error:  # Orbax and TensorStore have no common base for what a damaged file does to them
            raise CheckpointError(
                f"checkpoint {self.directory / str(step)} is damaged: {_first_line(error)}"
            ) from error


def _require_same_model(name: str, described: dict[str, Manifest], like: dict[str, Any]) -> None:
    """Without this a restore into a smaller model would load part of the weights without a word."""
    for part, tree in like.items():
        found = {path: (tuple(entry[0]), entry[1]) for path, entry in described[part].items()}
        leaves = jax.tree_util.tree_leaves_with_path(tree)
        wanted = {jax.tree_util.keystr(path): (tuple(leaf.shape) or (1,), str(leaf.dtype)) for path, leaf in leaves}
        for path in sorted(found.keys() | wanted.keys()):
            if found.get(path) != wanted.get(path):
                raise ModelMismatchError(
                    f"{name} is another model's: {part}{path} is {found.get(path)} there, {wanted.get(path)} here"
                )


def _alone() -> ocp.options.MultiprocessingOptions:
    """This process needs no other."""
    own = jax.process_index()
    return ocp.options.MultiprocessingOptions(primary_host=own, active_processes={own}, barrier_sync_key_prefix="alone")


def _plain(like: Any) -> Any:
    """Arrays in place of what has their shapes and types: Orbax else wants the devices that they were saved from."""
    return jax.tree.map(lambda leaf: np.empty(leaf.shape, leaf.dtype), like)


class ModelMismatchError(UserError):
    """A checkpoint of another model. Not a CheckpointError: no older checkpoint could help."""


def save_average(path: Path, params: Any, steps: list[int]) -> None:
    """Keeps averaged parameters. There is no optimizer state with them, and training cannot go on from them.

    Raises:
      FullDiscError: there is no room for them.
    """
    described = {"params": manifest(params), "steps": steps, "resumable": False}
    require_room(path.parent, params)
    with told_if_full(path.parent), ocp.Checkpointer(ocp.CompositeCheckpointHandler()) as checkpointer:
        args = ocp.args.Composite(params=ocp.args.StandardSave(params), average=ocp.args.JsonSave(described))
        checkpointer.save(path.absolute(), args=args)
        keep_checksums(path)


def read_average(path: Path, like: Any) -> Any:
    """The parameters that `save_average` kept.

    Raises:
      CheckpointError: they are damaged.
      ModelMismatchError: they are another model's.
    """
    if damage := find_damage(path):
        raise CheckpointError(f"average {path} is damaged: {damage}")
    try:
        with ocp.Checkpointer(ocp.CompositeCheckpointHandler()) as checkpointer:
            read = ocp.args.Composite(average=ocp.args.JsonRestore())
            described = checkpointer.restore(path.absolute(), args=read)["average"]
            _require_same_model(f"average {path}", described, {"params": like})
            read = ocp.args.Composite(params=ocp.args.StandardRestore(_plain(like)))
            params = checkpointer.restore(path.absolute(), args=read)["params"]
    except UserError:
        raise
    except Exception as error:  # as in Checkpoints._restore
        raise CheckpointError(f"average {path} is damaged: {_first_line(error)}") from error
    if manifest(params) != described["params"]:
        raise CheckpointError(f"average {path} is damaged: its checksums do not agree")
    return params


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).split("\n")[0][:200]
