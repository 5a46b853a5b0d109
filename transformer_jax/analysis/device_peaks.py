"""What devices compute at best, as the paper puts it, and what its cost column makes of that.

"We estimate the number of floating point operations used to train a model by multiplying the training time, the number
of GPUs used, and an estimate of the sustained single-precision floating-point capacity of each GPU" (section 6.1). No
operation is counted: a device that waits costs as much as one that works.
"""

import re

# FLOP/s of one device in single precision: the values of the footnote to section 6.1.
DEVICE_PEAKS = {"K80": 2.8e12, "K40": 3.7e12, "M40": 6.0e12, "P100": 9.5e12}


def device_peak(kind: str) -> float | None:
    """Of a device by the name that JAX or its maker gives it, "Tesla P100-SXM2-16GB"; None if the paper has none."""
    words = re.findall(r"[A-Za-z0-9]+", kind)
    return next((peak for name, peak in DEVICE_PEAKS.items() if name in words), None)


def estimated_flops(*, hours: float, devices: int, peak: float) -> float:
    """The paper's estimate of the operations of a training."""
    return hours * 3600 * devices * peak
