"""The paper's cost of a training: time x devices x peak."""

import json

import pytest

from transformer_jax.analysis.device_peaks import DEVICE_PEAKS, device_peak, estimated_flops


def test_the_peaks_are_those_of_the_footnote(shared):
    tables = json.loads((shared / "paper" / "tables.json").read_text(encoding="utf-8"))
    footnote = tables["table2"]["tflops_assumed_per_gpu"]
    assert {name: peak / 1e12 for name, peak in DEVICE_PEAKS.items()} == footnote


@pytest.mark.parametrize(
    ("kind", "peak"),
    [
        ("Tesla P100-SXM2-16GB", 9.5e12),
        ("NVIDIA Tesla K80", 2.8e12),
        ("K40", 3.7e12),
        ("M40 24GB", 6.0e12),
        ("NVIDIA RTX P1000", None),  # another device
        ("NVIDIA M4000", None),
        ("TPU v4", None),
        ("cpu", None),
        ("", None),
    ],
)
def test_a_device_is_known_by_a_word_of_its_name(kind, peak):
    assert device_peak(kind) == peak


def test_hand_worked():
    """Half an hour of three devices that make ten operations a second."""
    assert estimated_flops(hours=0.5, devices=3, peak=10.0) == 1800 * 3 * 10
