"""The measured peak, by a clock that is ours."""

import pytest
from tiny_experiment import tiny_experiment

from transformer_jax import parallel
from transformer_jax.analysis import matmul_peak, utilisation


class Clock:
    """Tells these moments, then the last again."""

    def __init__(self, *moments: float):
        self._moments = list(moments)

    def monotonic(self) -> float:
        return self._moments.pop(0) if len(self._moments) > 1 else self._moments[0]


def test_hand_worked(monkeypatch: pytest.MonkeyPatch):
    """Of three tries that take 4, 2 and 3 s the second counts: two products of 512^3 multiply-adds on each device."""
    monkeypatch.setattr(matmul_peak, "time", Clock(0, 10, 14, 20, 22, 30, 33))
    flops = 2 * 512**3 * 2 * parallel.num_devices()
    assert matmul_peak.matmul_peak("float32", seconds=1.0) == pytest.approx(flops / 2)


def test_the_best_size_counts(monkeypatch: pytest.MonkeyPatch):
    """A size is the next one's double: eight times the work. It stops before one that would end too late."""
    took = {512: 1.0, 1024: 2.0, 2048: 32.0}
    asked = []

    def seconds(size: int, _: str) -> float:
        asked.append(size)
        return took[size]

    monkeypatch.setattr(matmul_peak, "_seconds_of_a_product", seconds)
    monkeypatch.setattr(matmul_peak, "time", Clock(0))
    peak = matmul_peak.matmul_peak("float32", seconds=8.0 * 8 * 2)
    assert asked == [512, 1024, 2048]
    assert peak == pytest.approx(parallel.num_devices() * 2 * 1024**3 / 2.0)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_products_are_products(dtype: str, monkeypatch: pytest.MonkeyPatch):
    """Some speed that a machine can have, measured for both types."""
    monkeypatch.setattr(matmul_peak, "_SIZES", (64,))
    assert 1e5 < matmul_peak.matmul_peak(dtype) < 1e18  # type: ignore[arg-type]


def test_a_record_is_told_its_share_and_the_peak_measured_once(monkeypatch: pytest.MonkeyPatch):
    peaks = []

    def peak(dtype: str) -> float:
        peaks.append(dtype)
        return 1e6

    monkeypatch.setattr(utilisation, "matmul_peak", peak)
    monkeypatch.setattr(utilisation, "utilisation", lambda _model, _size, record, *, peak: record["x"] / peak)
    told = utilisation.utilisation_of(tiny_experiment())
    assert peaks == [], "a run's start does not wait for it"
    assert [told({"x": x}) for x in (2e6, 5e5)] == [{"utilisation": 2.0}, {"utilisation": 0.5}]
    assert peaks == ["float32"]
