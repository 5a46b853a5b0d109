"""Ancestral sampling: independent hypotheses, each token drawn from the model's distribution given those before it.

It is the search whose step leaves one token to each hypothesis, the drawn one. So whatever holds of the search holds
here: limits, constraints, the cache, sentences that leave their batch. A hypothesis is scored by the probabilities of
the step, whatever the distribution it was drawn from.

What is drawn depends on the seed, the sentence, the sample's number and the position, and not on what stands beside it.
"""

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from transformer_jax.decoding.beam_search import (
    Cache,
    Live,
    LogProbs,
    Rules,
    State,
    Step,
    initial_state,
    ranked,
    search,
)
from transformer_jax.decoding.constraints import Constraint, constrained
from transformer_jax.decoding.hypotheses import NONE, Hypotheses
from transformer_jax.decoding.top_k import top_k


@dataclass(frozen=True)
class Sampling:
    """The distribution to draw from, made of the step's in the order of the fields."""

    temperature: float  # p^(1 / temperature), made to sum to 1; near 0, the most probable token
    top_k: int | None  # of the so many most probable tokens alone; None: of all
    nucleus: float | None  # of the fewest most probable of those that have this share of it, at least one; None: of all

    def __post_init__(self) -> None:
        if self.temperature <= 0:
            raise ValueError(f"temperature = {self.temperature}: must be positive")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k = {self.top_k}: must be at least 1")
        if self.nucleus is not None and not 0 < self.nucleus <= 1:
            raise ValueError(f"nucleus = {self.nucleus}: must be above 0 and at most 1")


def sentence_keys(seed: int, sentences: Int[Array, "B"]) -> Key[Array, "B"]:
    """The randomness of each sentence, by its number in the whole input."""
    return jax.vmap(partial(jax.random.fold_in, jax.random.key(seed)))(sentences)


def draw(key: Key[Array, ""], log_probs: Float[Array, "vocab"], sampling: Sampling) -> Int[Array, ""]:
    """One token. Equally probable ones are taken into a top k or a nucleus in the order of their ids."""
    logits = log_probs / sampling.temperature
    if sampling.top_k is None and sampling.nucleus is None:
        return jax.random.categorical(key, logits)
    vocab = log_probs.shape[0]
    logits, tokens = top_k(logits, min(sampling.top_k or vocab, vocab))
    if sampling.nucleus is not None:
        probs = jax.nn.softmax(logits)
        logits = jnp.where(jnp.cumsum(probs) - probs < sampling.nucleus, logits, -jnp.inf)
    return tokens[jax.random.categorical(key, logits)]


def drawn(sampling: Sampling, keys: Key[Array, "B"]) -> Constraint:
    """All tokens but the one that is drawn for each hypothesis are forbidden. Other constraints must come before it.

    A sample's number is the lane of its first token, wherever it has moved since.
    """

    def constraint(log_probs: LogProbs, live: Live, position: Array) -> LogProbs:
        def token(key: Array, sample: Array, own: Array) -> Array:
            return draw(jax.random.fold_in(jax.random.fold_in(key, sample), position), own, sampling)

        tokens = jax.vmap(jax.vmap(token, (None, 0, 0)))(keys, live.lanes[:, :, 0], log_probs)
        return jnp.where(jnp.arange(log_probs.shape[2]) == tokens[:, :, None], log_probs, NONE)

    return constraint


def independent(state: State) -> State:
    """An initial state with all beams alive: a sample each. A search begins with one, for they would stay the same."""
    log_probs = jnp.broadcast_to(state.live.log_probs[:, :1], state.live.log_probs.shape)
    return state._replace(live=state.live._replace(log_probs=log_probs))


def until_all_end(rules: Rules) -> Rules:
    """The same rules, but nothing stops a sample save its end and its limit."""
    return replace(rules, stop="beam_finished")


def sample(
    step: Step,
    cache: Cache,
    limits: Int[Array, "B"],
    rules: Rules,
    sampling: Sampling,
    keys: Key[Array, "B"],
    *,
    max_steps: int,
) -> Hypotheses:
    """`beam_size` independent samples of each sentence, at once, as `beam_search` returns hypotheses.

    Those that ended come first, best score first; then those that were cut off at the sentence's limit, best first.
    Equal samples are kept, each in a slot of its own.

    Args:
      keys: `sentence_keys`.
      step, cache, limits, rules, max_steps: as of `beam_search`; the rule to stop is not asked.
    """
    limits = jnp.clip(jnp.asarray(limits, jnp.int32), 0, max_steps)
    rules = until_all_end(rules)
    state = independent(initial_state(cache, limits, max_steps, rules))
    return ranked(search(constrained(step, drawn(sampling, keys)), state, limits, rules), limits, rules)
