"""Which sizes Table 1 is measured at."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from experiments.complexity.rows import paper_exponents
from transformer_jax.analysis.complexity.layers import NAMES, PROJECTED, RECURRENT, SELF_ATTENTION, Sizes

CROSSING = (SELF_ATTENTION, PROJECTED, RECURRENT)


@dataclass(frozen=True)
class Grid:
    """Where one kind of cost is measured."""

    base: Sizes
    values: Mapping[str, tuple[int, ...]]  # of one size, the others the base's: what exponents are fitted to
    crossing_n: tuple[int, ...]  # and of self-attention and recurrence, each of these lengths
    crossing_d: tuple[int, ...]  # at each of these widths

    def sweep(self, axis: str) -> list[Sizes]:
        """The base with each of the values of one size."""
        return [self.base._replace(**{axis: value}) for value in self.values[axis]]

    def crossing(self, d: int) -> list[Sizes]:
        return [self.base._replace(n=n, d=d) for n in self.crossing_n]

    def points(self) -> Iterator[tuple[str, Sizes]]:
        """(layer type, sizes) of each measurement, once."""
        swept = [(name, sizes) for name in NAMES for axis in paper_exponents(name) for sizes in self.sweep(axis)]
        crossing = [(name, sizes) for name in CROSSING for d in self.crossing_d for sizes in self.crossing(d)]
        yield from dict.fromkeys(swept + crossing)


@dataclass(frozen=True)
class Plan:
    """All that is measured."""

    operations: Grid
    seconds: Grid
    rounds: int  # as often is every time measured; the shortest counts
    connected: tuple[Sizes, ...]  # where path lengths and chains of products are counted
    d_k: tuple[int, ...]  # of the attention functions
    queries: int  # that their softness is the median of
    keys: int
    long: Sizes  # of the sequence that restricted and full self-attention are trained on


_WIDTHS = (64, 128, 256, 512)
FULL = Plan(
    # n >> d throughout: operations are counted without being done.
    operations=Grid(
        base=Sizes(n=16384, d=64, k=7, r=64),
        values={"n": (2048, 4096, 8192, 16384), "d": _WIDTHS, "k": (3, 5, 9, 17, 33), "r": (32, 64, 128, 256)},
        crossing_n=tuple(2**power for power in range(5, 13)),
        crossing_d=_WIDTHS,
    ),
    # Where scores of a head fit a core's cache. Beyond, at some size, a layer is many times slower at once.
    seconds=Grid(
        base=Sizes(n=512, d=128, k=7, r=64),
        values={"n": (256, 384, 512, 768, 1024), "d": _WIDTHS, "k": (3, 5, 9, 17, 33), "r": (32, 64, 128, 256)},
        crossing_n=tuple(2**power for power in range(5, 13)),
        crossing_d=(64, 128, 256),
    ),
    rounds=3,
    connected=tuple(Sizes(n, d=4, k=3, r=8) for n in (2, 4, 8, 16, 32, 64)),
    d_k=(4, 8, 16, 32, 64, 128, 256, 512),
    queries=256,
    keys=64,
    long=Sizes(n=4096, d=512, k=7, r=64),
)
