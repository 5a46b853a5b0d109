"""Beam search, section 6.1: it takes a step function and a cache, and knows no model.

A hypothesis Y of |Y| tokens, its end token among them, scores

    log P(Y) / lp(|Y|),   lp(n) = ((offset + n) / (offset + 1)) ** alpha

with offset 5 after Wu et al. 2016 (GNMT, section 7, without the coverage term). Each step keeps the 2 * beam best
continuations of the live hypotheses. Those that end move to the finished set, which keeps its `beam` best by score; the
`beam` best others stay alive. At most one continuation of a live hypothesis ends, so that enough always survive.

A beam of one is greedy search: its single candidate is the most probable token, and the end token ends the search.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

NO_HYPOTHESIS = -jnp.inf  # the log-probability and the score of a slot that holds none

# Any pytree of arrays [B, beam, ...]. What the beams of a sentence share is closed over by the step instead.
Cache = Any
# (ids [B, beam], position [], cache) -> (log-probabilities of the next token [B, beam, vocab], cache)
Step = Callable[[Array, Array, Cache], tuple[Array, Cache]]
Penalty = Callable[[Array], Array]  # `length_penalty` with its settings bound


class Hypotheses(NamedTuple):
    """Hypotheses of each sentence, best first. A slot without one has length 0 and the scores -inf."""

    ids: Int[Array, "B beam T"]  # the end token included; then padding
    lengths: Int[Array, "B beam"]  # tokens, the end token included
    scores: Float[Array, "B beam"]  # log P / length penalty
    log_probs: Float[Array, "B beam"]  # log P
    finished: Bool[Array, "B beam"]  # ends with the end token; False: cut off at the sentence's limit


class Candidates(NamedTuple):
    """The best one-token continuations of the live hypotheses of each sentence, most probable first."""

    parents: Int[Array, "B candidates"]  # which beam each one continues
    tokens: Int[Array, "B candidates"]
    log_probs: Float[Array, "B candidates"]  # log P of the whole


class State(NamedTuple):
    """What the loop carries. Live hypotheses all have `step` tokens, or their sentence has left the search."""

    step: Int[Array, ""]  # steps made
    live_ids: Int[Array, "B beam T"]
    live_log_probs: Float[Array, "B beam"]  # in falling order
    finished: Hypotheses
    cache: Cache


def length_penalty(length: Int[Array, "*shape"] | int, *, alpha: float, offset: float) -> Float[Array, "*shape"]:
    """((offset + length) / (offset + 1)) ** alpha. The end token counts; alpha 0 does not normalise at all.

    Offset 5 is GNMT's and the paper's, offset 0 gives length ** alpha.
    """
    return ((offset + jnp.asarray(length, jnp.float32)) / (offset + 1)) ** alpha


def gather_beams(tree: Any, places: Int[Array, "B places"]) -> Any:
    """Leaves [B, beam, ...] of `tree` reordered along their second axis: [B, places, ...]."""

    def gather(leaf: Array) -> Array:
        index = places.reshape(places.shape + (1,) * (leaf.ndim - 2))
        return jnp.take_along_axis(leaf, index, axis=1, mode="clip")  # the default mode would search for NaN to fill in

    return jax.tree.map(gather, tree)


def best_candidates(step_log_probs: Float[Array, "B beam vocab"], live_log_probs: Float[Array, "B beam"]) -> Candidates:
    """The 2 * beam best of the beam * vocab continuations; of a beam of one, the best.

    Each of these is among the 2 * beam best of its own row, so that a long axis is searched only row by row. Of equally
    probable ones the lower beam comes first, then the lower id.
    """
    batch, beam, vocab = step_log_probs.shape
    wanted = 1 if beam == 1 else 2 * beam
    width = min(wanted, vocab)
    row_log_probs, row_tokens = jax.lax.top_k(step_log_probs, width)
    totals = live_log_probs[:, :, None] + row_log_probs.astype(jnp.float32)
    log_probs, places = jax.lax.top_k(totals.reshape(batch, beam * width), min(wanted, beam * width))
    tokens = gather_beams(row_tokens.reshape(batch, beam * width), places)
    return Candidates(parents=places // width, tokens=tokens, log_probs=log_probs)


def retire(finished: Hypotheses, newcomers: Hypotheses) -> Hypotheses:
    """The `beam` best by score of the `finished` hypotheses and the `newcomers`.

    Of equals the older stays, so that a newcomer of score -inf displaces nothing, not even an empty slot.
    """
    pool = jax.tree.map(lambda old, new: jnp.concatenate([old, new], axis=1), finished, newcomers)
    _, places = jax.lax.top_k(pool.scores, finished.scores.shape[1])
    return gather_beams(pool, places)


def is_searching(state: State, max_lengths: Int[Array, "B"], penalty: Penalty) -> Bool[Array, "B"]:
    """The sentences whose kept hypotheses may still change.

    log P only falls and the penalty only grows (alpha >= 0), so that log P / lp(limit) bounds whatever a live
    hypothesis can become. A sentence is done when that does not beat its worst kept hypothesis (an empty slot is
    beaten by all), or at its limit.
    """
    bound = state.live_log_probs[:, 0] / penalty(max_lengths)
    return (state.step < max_lengths) & (bound > state.finished.scores[:, -1])


def initial_state(cache: Cache, max_lengths: Int[Array, "B"], *, beam_size: int, max_steps: int, pad_id: int) -> State:
    """One live hypothesis, the empty one, in the first beam of each sentence that may have any token."""
    batch = max_lengths.shape[0]
    ids = jnp.full((batch, beam_size, max_steps), pad_id, jnp.int32)
    none = jnp.full((batch, beam_size), NO_HYPOTHESIS, jnp.float32)
    return State(
        step=jnp.zeros((), jnp.int32),
        live_ids=ids,
        live_log_probs=none.at[:, 0].set(jnp.where(max_lengths > 0, 0.0, NO_HYPOTHESIS)),
        finished=Hypotheses(ids, jnp.zeros((batch, beam_size), jnp.int32), none, none, jnp.zeros(none.shape, bool)),
        cache=cache,
    )


def last_ids(state: State, bos_id: int) -> Int[Array, "B beam"]:
    """The newest token of each live hypothesis; the begin token before the first step."""
    newest = jax.lax.dynamic_index_in_dim(state.live_ids, state.step - 1, axis=2, keepdims=False)
    return jnp.where(state.step == 0, bos_id, newest)


def divide(
    state: State, step_log_probs: Float[Array, "B beam vocab"], eos_id: int, penalty: Penalty
) -> tuple[State, Int[Array, "B beam"]]:
    """The state one token later, its cache untouched, and the parent of each live hypothesis.

    The candidates that end are retired, the `beam` best others survive.
    """
    candidates = best_candidates(step_log_probs, state.live_log_probs)
    ids = gather_beams(state.live_ids, candidates.parents).at[:, :, state.step].set(candidates.tokens)
    length = state.step + 1
    ended = candidates.tokens == eos_id
    log_probs = jnp.where(ended, candidates.log_probs, NO_HYPOTHESIS)
    lengths = jnp.broadcast_to(length, ended.shape)
    newcomers = Hypotheses(ids, lengths, log_probs / penalty(length), log_probs, ended)
    alive = jnp.where(ended, NO_HYPOTHESIS, candidates.log_probs)
    live_log_probs, places = jax.lax.top_k(alive, state.live_log_probs.shape[1])
    live_ids, parents = gather_beams((ids, candidates.parents), places)
    return State(length, live_ids, live_log_probs, retire(state.finished, newcomers), state.cache), parents


def advance(
    step: Step, state: State, searching: Bool[Array, "B"], *, bos_id: int, eos_id: int, penalty: Penalty
) -> State:
    """One token more for the sentences that are `searching`; the others keep what they have."""
    step_log_probs, cache = step(last_ids(state, bos_id), state.step, state.cache)
    new, parents = divide(state, step_log_probs, eos_id, penalty)

    def choose(new: Array, old: Array) -> Array:
        return jnp.where(searching.reshape((-1,) + (1,) * (new.ndim - 1)), new, old)

    return State(
        step=new.step,
        live_ids=choose(new.live_ids, state.live_ids),
        live_log_probs=choose(new.live_log_probs, state.live_log_probs),
        finished=jax.tree.map(choose, new.finished, state.finished),
        cache=gather_beams(cache, parents),
    )


def ranked(state: State, max_lengths: Int[Array, "B"], penalty: Penalty) -> Hypotheses:
    """The finished hypotheses, then, in slots left over, the live ones that were cut off at their sentence's limit."""
    is_live = state.live_log_probs > NO_HYPOTHESIS
    limits = jnp.broadcast_to(max_lengths[:, None], is_live.shape)
    scores = state.live_log_probs / penalty(limits)
    lengths = jnp.where(is_live, limits, 0)
    cut_off = Hypotheses(state.live_ids, lengths, scores, state.live_log_probs, jnp.zeros(is_live.shape, bool))
    pool = jax.tree.map(lambda a, b: jnp.concatenate([a, b], axis=1), state.finished, cut_off)
    empty_last = jnp.argsort(pool.lengths == 0, axis=1, stable=True)
    return gather_beams(pool, empty_last[:, : is_live.shape[1]])


def beam_search(
    step: Step,
    cache: Cache,
    max_lengths: Int[Array, "B"],
    *,
    beam_size: int,
    max_steps: int,
    alpha: float,
    offset: float,
    bos_id: int,
    eos_id: int,
    pad_id: int,
) -> Hypotheses:
    """The `beam_size` best hypotheses of each sentence; can be jitted, with all but the arrays static.

    Args:
      step: `step(ids, position, cache) -> (log_probs, cache)`: feeds `ids` [B, beam] at `position` (0 for the begin
        token) and gives the log-probabilities [B, beam, vocab] of the next token. Minus infinity forbids a token.
      cache: pytree of arrays [B, beam, ...], reordered whenever hypotheses change places.
      max_lengths: the most tokens a hypothesis of each sentence may have, the end token included; at most `max_steps`
        count. A sentence of limit 0 (padding of the batch) has no hypothesis.
      max_steps: size of the buffers, T.
      alpha, offset: the length penalty; neither may be negative, for the stop rule needs a penalty that grows.

    Returns:
      Finished hypotheses, best score first. Slots left over when a sentence reaches its limit hold the best unfinished
      ones, best first, scored by the same formula: so the first is unfinished only where no candidate ended in time.

    A sentence that is done does not change, so that its hypotheses do not depend on the rest of the batch.
    """
    if beam_size < 1 or max_steps < 1:
        raise ValueError(f"beam_size = {beam_size}, max_steps = {max_steps}: both must be at least 1")
    if alpha < 0 or offset < 0:
        raise ValueError(f"alpha = {alpha}, offset = {offset}: neither may be negative")
    penalty = partial(length_penalty, alpha=alpha, offset=offset)
    limits = jnp.clip(jnp.asarray(max_lengths, jnp.int32), 0, max_steps)

    def body(state: State) -> State:
        searching = is_searching(state, limits, penalty)
        return advance(step, state, searching, bos_id=bos_id, eos_id=eos_id, penalty=penalty)

    state = initial_state(cache, limits, beam_size=beam_size, max_steps=max_steps, pad_id=pad_id)
    state = jax.lax.while_loop(lambda state: is_searching(state, limits, penalty).any(), body, state)
    return ranked(state, limits, penalty)
