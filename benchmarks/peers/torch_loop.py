"""An update of a model in PyTorch, in several ways of which the fastest is to be had."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks.peers.torch_model import PAD_ID, Transformer

_CHUNK = 512
_ROUNDS = 3  # of a choice between ways


class Batch(NamedTuple):
    source: Tensor  # [B, S]
    target: Tensor  # [B, T]
    real: Tensor  # [tokens], where the flattened target is no padding


def all_positions(outputs: Tensor, table: Tensor, batch: Batch, smoothing: float) -> Tensor:
    logits = functional.linear(outputs, table).flatten(0, 1)
    return functional.cross_entropy(logits, batch.target.flatten(), ignore_index=PAD_ID, label_smoothing=smoothing)


def real_positions(outputs: Tensor, table: Tensor, batch: Batch, smoothing: float) -> Tensor:
    logits = functional.linear(outputs.flatten(0, 1)[batch.real], table)
    return functional.cross_entropy(logits, batch.target.flatten()[batch.real], label_smoothing=smoothing)


def backward_in_chunks(outputs: Tensor, table: Tensor, batch: Batch, smoothing: float) -> None:
    """The gradient of `real_positions`; logits of so many positions exist at a time."""
    real, targets = outputs.flatten(0, 1)[batch.real], batch.target.flatten()[batch.real]
    cut = real.detach().requires_grad_()
    for own, ids in zip(cut.split(_CHUNK), targets.split(_CHUNK), strict=True):
        loss = functional.cross_entropy(functional.linear(own, table), ids, label_smoothing=smoothing, reduction="sum")
        (loss / len(targets)).backward()
    real.backward(cut.grad)


class Way(NamedTuple):
    """One way to make an update."""

    loss: str
    attention: str
    compiled: bool  # the model, by torch.compile, each shape for itself

    def __str__(self) -> str:
        return f"logits of {self.loss}, {self.attention} attention{', compiled' * self.compiled}"


_LOSSES = {"all positions": all_positions, "real positions": real_positions}
_IN_CHUNKS = "real positions in chunks"
_ATTENTION = {"fused": list(SDPBackend.__members__.values()), "plain": [SDPBackend.MATH]}


class Loop:
    """Updates of one model, in any way."""

    def __init__(self, model: Transformer, settings: dict[str, Any]):
        self._model, self._settings, self._device = model, settings, model.table.device
        self._optimizer = torch.optim.Adam(
            model.parameters(), settings["learning_rate"], betas=(0.9, 0.98), eps=1e-9, fused=True
        )
        self._compiled = torch.compile(model, dynamic=False)

    def update(self, batch: Batch, way: Way) -> None:
        """Without waiting for it."""
        model, smoothing = self._compiled if way.compiled else self._model, self._settings["label_smoothing"]
        bfloat16 = self._settings["compute_dtype"] == "bfloat16"
        self._optimizer.zero_grad()
        with (
            torch.autocast(self._device.type, torch.bfloat16, enabled=bfloat16),
            sdpa_kernel(_ATTENTION[way.attention]),
        ):
            outputs = model(batch.source, batch.target)
            if way.loss == _IN_CHUNKS:
                backward_in_chunks(outputs, self._model.table, batch, smoothing)
            else:
                _LOSSES[way.loss](outputs, self._model.table, batch, smoothing).backward()
        self._optimizer.step()

    def seconds(self, batches: Sequence[Batch], way: Way) -> float:
        """Of an update of each batch."""
        self._wait()
        started = time.monotonic()
        for batch in batches:
            self.update(batch, way)
        self._wait()
        return time.monotonic() - started

    def _wait(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize()


def fastest(loop: Loop, batch: Batch, *, may_compile: bool) -> tuple[Way, dict[str, float]]:
    """The way that is fastest for one batch, and the seconds of each that was tried: the best of a few updates.

    All losses with all kinds of attention; the best of these compiled as well.
    """
    ways = [Way(loss, attention, False) for loss in (*_LOSSES, _IN_CHUNKS) for attention in _ATTENTION]
    seconds = _shortest(loop, batch, ways)
    if may_compile:
        best = min(seconds, key=seconds.__getitem__)
        seconds |= _shortest(loop, batch, [best._replace(compiled=True)])
        seconds[best] = min(seconds[best], *_shortest(loop, batch, [best]).values())
    return min(seconds, key=seconds.__getitem__), {str(way): value for way, value in seconds.items()}


def _shortest(loop: Loop, batch: Batch, ways: Sequence[Way]) -> dict[Way, float]:
    for way in ways:
        loop.update(batch, way)
    rounds = [[loop.seconds([batch], way) for way in ways] for _ in range(_ROUNDS)]
    return dict(zip(ways, map(min, zip(*rounds, strict=True)), strict=True))
