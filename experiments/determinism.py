"""`Training.deterministic`: what the devices need for that, and what it costs."""

import os

from transformer_jax.config import Training

_FLAG = "--xla_gpu_deterministic_ops=true"


def make_deterministic(training: Training) -> str | None:
    """Sets it for all that this process computes, before it has computed anything; returns a line about it.

    XLA on CPUs and TPUs repeats itself as it is: the order of its sums does not depend on threads. On GPUs it would
    choose among algorithms by timing them, and add by atomic operations in any order.
    """
    if not training.deterministic:
        return None
    flags = os.environ.get("XLA_FLAGS", "")
    if _FLAG not in flags.split():
        os.environ["XLA_FLAGS"] = f"{flags} {_FLAG}".strip()
    return f"deterministic: GPUs use no operation whose result varies ({_FLAG}), and are slower for it"
