"""How much of what the devices could multiply a training run makes use of."""

from collections.abc import Callable
from functools import cache
from typing import Any

from transformer_jax import config, parallel
from transformer_jax.analysis.cost import utilisation
from transformer_jax.analysis.matmul_peak import matmul_peak


def utilisation_of(experiment: config.Experiment) -> Callable[[dict[str, Any]], dict[str, float]]:
    """What a training record is to say beside its own: {"utilisation": the share of the measured peak}.

    The first record has it measured, between two steps; every process is taken to have as many devices, as fast.
    """
    peak = cache(lambda: matmul_peak(experiment.model.compute_dtype) * parallel.num_processes())

    def of(record: dict[str, Any]) -> dict[str, float]:
        return {"utilisation": utilisation(experiment.model, experiment.data.vocab_size, record, peak=peak())}

    return of
