"""Searches of tests are compiled once for few steps, on one device: they would be compiled for each."""

import pytest
from compilation import quick_to_compile
from decoding.small_generator import use_devices

__all__ = ["one_device", "quick_to_compile"]


@pytest.fixture
def one_device(monkeypatch: pytest.MonkeyPatch) -> None:
    use_devices(monkeypatch, 1)
