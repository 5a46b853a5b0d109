"""The cost column of Table 2, computed once more from what it is made of."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from experiments.paper import TABLE_2, TABLE_2_ENSEMBLE, TABLE_2_HARDWARE
from transformer_jax.analysis.device_peaks import DEVICE_PEAKS, estimated_flops

LANGUAGES = {"en_de": "English-German", "en_fr": "English-French"}
# English-German, as summaries of the paper have it.
IN_SUMMARIES = {"GNMT + RL": 2.3e18, "GNMT + RL Ensemble": 1.8e19}
_ENSEMBLE = " Ensemble"


class Recomputed(NamedTuple):
    flops: float
    how: str  # the product


def recomputed(system: str, languages: str) -> Recomputed | None:
    """Of "en_de" or "en_fr": hours x devices x peak, or an ensemble's as a multiple of its model's printed cost.

    None: nobody says what the cost is made of.
    """
    hardware = TABLE_2_HARDWARE.get(system)
    if hardware:
        hours, peak = getattr(hardware, f"hours_{languages}"), DEVICE_PEAKS[hardware.device]
        how = f"{hardware.devices} {hardware.device} x {hours:g} h x {peak / 1e12:g} TFLOPS"
        return Recomputed(estimated_flops(hours=hours, devices=hardware.devices, peak=peak), how)
    single = getattr(TABLE_2[system.removesuffix(_ENSEMBLE)], f"flops_{languages}")
    if not system.endswith(_ENSEMBLE) or single is None:
        return None
    return Recomputed(TABLE_2_ENSEMBLE * single, f"{TABLE_2_ENSEMBLE} x {scientific(single)}")


def verdicts() -> Iterator[str]:
    """Which is right where summaries print another cost than the paper: the one that is nearer to the recomputed."""
    for system, summary in IN_SUMMARIES.items():
        printed, again = TABLE_2[system].flops_en_de, recomputed(system, "en_de")
        assert printed
        assert again
        right, wrong = sorted((printed, summary), key=lambda cost: abs(math.log(cost / again.flops)))
        who = "the paper" if right == printed else "the summary"
        yield (
            f"{system}, English-German: {again.how} = {scientific(again.flops, 2)}; of {scientific(printed)} in the "
            f"paper and {scientific(summary)} in summaries of it, {who} is right, and {scientific(wrong)} is not"
        )


def scientific(flops: float, digits: int = 1) -> str:
    """As the paper prints it: 3.3e18."""
    return f"{flops:.{digits}e}".replace("e+", "e")
