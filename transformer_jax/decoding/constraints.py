"""What a search may not say: its log-probability becomes minus infinity, and the others stay what they are."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from transformer_jax.decoding.beam_search import Live, LogProbs, Step

# (log-probabilities of the next token, live hypotheses, position of their newest token) -> the same, some forbidden
Constraint = Callable[[LogProbs, Live, Array], LogProbs]


def constrained(step: Step, *constraints: Constraint) -> Step:
    """The same step under all constraints."""

    def under_constraints(live: Live, position: Array, cache: Any) -> tuple[LogProbs, Any]:
        log_probs, cache = step(live, position, cache)
        for constraint in constraints:
            log_probs = constraint(log_probs, live, position)
        return log_probs, cache

    return under_constraints


def without(*ids: int) -> Constraint:
    """Never one of `ids`."""

    def constraint(log_probs: LogProbs, _live: Live, _position: Array) -> LogProbs:
        # A mask, here and below: on a CPU, to set single entries takes several times as long.
        return jnp.where(np.isin(np.arange(log_probs.shape[2]), ids), -jnp.inf, log_probs)

    return constraint


def not_ending_before(least: Int[Array, "B"], eos_id: int) -> Constraint:
    """At least so many tokens before the end token."""

    def constraint(log_probs: LogProbs, _live: Live, position: Array) -> LogProbs:
        too_early = (position < least)[:, None, None]
        return jnp.where(too_early & (jnp.arange(log_probs.shape[2]) == eos_id), -jnp.inf, log_probs)

    return constraint


def beginning_with(prefix: Int[Array, "B P"], pad_id: int) -> Constraint:
    """The tokens of each sentence's prefix first; padding ends it."""

    def constraint(log_probs: LogProbs, _live: Live, position: Array) -> LogProbs:
        if prefix.shape[1] == 0:
            return log_probs
        wanted = jnp.where(position < prefix.shape[1], prefix[:, jnp.minimum(position, prefix.shape[1] - 1)], pad_id)
        other = jnp.arange(log_probs.shape[2]) != wanted[:, None]
        return jnp.where((other & (wanted != pad_id)[:, None])[:, None, :], -jnp.inf, log_probs)

    return constraint
