"""Sequences of different lengths, end to end in one array: in memory, or on disk and memory-mapped."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int64, Integer


@dataclass(frozen=True)
class Ragged:
    """Sequence i is `values[offsets[i]:offsets[i + 1]]`."""

    values: Integer[np.ndarray, " total"]
    offsets: Int64[np.ndarray, " count_and_1"]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, i: int) -> Integer[np.ndarray, " length"]:
        return self.values[self.offsets[i] : self.offsets[i + 1]]

    @property
    def lengths(self) -> Int64[np.ndarray, " count"]:
        return np.diff(self.offsets)

    def save(self, folder: Path, name: str) -> None:
        """Two files in `folder`, which must exist."""
        for part, array in zip(_paths(folder, name), (self.values, self.offsets), strict=True):
            np.save(part, array)

    @classmethod
    def load(cls, folder: Path, name: str) -> "Ragged":
        """What `save` wrote there, memory-mapped."""
        # Plain views of the maps: np.memmap's own indexing is several times slower.
        return cls(*(np.load(part, mmap_mode="r").view(np.ndarray) for part in _paths(folder, name)))


def _paths(folder: Path, name: str) -> tuple[Path, Path]:
    return folder / f"{name}_values.npy", folder / f"{name}_offsets.npy"
