"""Beam search, section 6.1: it takes a step function and a cache, and knows no model.

A hypothesis Y of |Y| tokens, its end token among them, scores

    log P(Y) / lp(|Y|),   lp(n) = ((offset + n) / (offset + 1)) ** alpha

Each step keeps the 2 * beam best continuations of the live hypotheses. Those that end move to the finished set, which
keeps its `beam` best by score; the `beam` best others stay alive. At most one continuation of a live hypothesis ends,
so that enough always survive. A beam of one is greedy search: its single candidate is the most probable token.

Nothing that a step has cached is ever moved. Each beam is a lane in which whatever hypothesis is there writes, and
`lanes` says in which lane each token of a live hypothesis was written: its history, through all its ancestors.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from transformer_jax.config import StopRule
from transformer_jax.decoding.hypotheses import (
    NONE,
    Hypotheses,
    gather_beams,
    length_penalty,
    no_hypotheses,
    pad_steps,
    retire,
    where_rows,
)
from transformer_jax.decoding.top_k import top_k

Cache = Any  # any pytree; the step alone reads and writes it
LogProbs = Float[Array, "B beam vocab"]


class Live(NamedTuple):
    """The live hypotheses of each sentence, most probable first, all of one length."""

    length: Int[Array, "B"]  # in tokens: the steps made, or, of a sentence that is done, those made until then
    ids: Int[Array, "B beam T"]
    log_probs: Float[Array, "B beam"]
    lanes: Int[Array, "B beam T"]  # the lane, 0 to beam - 1, in which each token was fed to the step


# (live hypotheses, position [], cache) -> (log-probabilities of the next token, cache). Minus infinity forbids a token,
# and so does NaN: a broken model finds nothing, rather than something that beats all.
# Hypothesis k writes into lane k; what its token at an earlier position t cached is in lane lanes[:, k, t].
Step = Callable[[Live, Array, Cache], tuple[LogProbs, Cache]]


class State(NamedTuple):
    """What the search carries."""

    step: Int[Array, ""]  # steps made
    live: Live
    finished: Hypotheses
    cache: Cache


class Candidates(NamedTuple):
    """The best one-token continuations of the live hypotheses of each sentence, most probable first."""

    parents: Int[Array, "B candidates"]  # which beam each one continues
    tokens: Int[Array, "B candidates"]
    log_probs: Float[Array, "B candidates"]  # log P of the whole


@dataclass(frozen=True)
class Rules:
    """What the search keeps and when it stops.

    Stop rules, by name:
      "bound": when no live hypothesis can become better than the worst of the `beam` kept ones (the paper's code).
      "beam_finished": when `beam` hypotheses have finished (fairseq, CTranslate2).
      "first_finished": when one has.
    The last two count a hypothesis as finished only where its end is among the `beam` best continuations.
    """

    beam_size: int
    alpha: float
    offset: float
    stop: StopRule
    bos_id: int
    eos_id: int
    pad_id: int

    def __post_init__(self) -> None:
        if self.beam_size < 1:
            raise ValueError(f"beam_size = {self.beam_size}: must be at least 1")
        if self.alpha < 0 or self.offset < 0:  # the bound needs a penalty that grows
            raise ValueError(f"alpha = {self.alpha}, offset = {self.offset}: neither may be negative")

    def penalty(self, length: Int[Array, "*shape"] | int) -> Float[Array, "*shape"]:
        """`length_penalty` of the rules."""
        return length_penalty(length, alpha=self.alpha, offset=self.offset)

    def may_end(self, candidates: int) -> Bool[Array, " candidates"]:
        """Which of so many candidates, by rank, may move to the finished set."""
        return jnp.arange(candidates) < (candidates if self.stop == "bound" else self.beam_size)


def best_candidates(step_log_probs: LogProbs, live_log_probs: Float[Array, "B beam"]) -> Candidates:
    """The 2 * beam best of the beam * vocab continuations; of a beam of one, the best.

    Each of these is among the 2 * beam best of its own row, so that a long axis is searched only row by row. Of equally
    probable ones the lower beam comes first, then the lower id.
    """
    batch, beam, vocab = step_log_probs.shape
    wanted = 1 if beam == 1 else 2 * beam
    width = min(wanted, vocab)
    row_log_probs, row_tokens = top_k(step_log_probs, width)
    totals = live_log_probs[:, :, None] + row_log_probs.astype(jnp.float32)
    totals = jnp.where(jnp.isnan(totals), NONE, totals)
    log_probs, places = jax.lax.top_k(totals.reshape(batch, beam * width), min(wanted, beam * width))
    tokens = gather_beams(row_tokens.reshape(batch, beam * width), places)
    return Candidates(parents=places // width, tokens=tokens, log_probs=log_probs)


def is_searching(state: State, limits: Int[Array, "B"], rules: Rules) -> Bool[Array, "B"]:
    """The sentences whose kept hypotheses may still change.

    The bound: log P only falls and the penalty only grows (alpha >= 0), so that log P / lp(limit) bounds whatever a
    live hypothesis can become. An empty slot is beaten by all.
    """
    scores = state.finished.scores
    if rules.stop == "bound":
        going_on = state.live.log_probs[:, 0] / rules.penalty(limits) > scores[:, -1]
    else:
        going_on = (scores[:, -1] if rules.stop == "beam_finished" else scores[:, 0]) == NONE
    return (state.live.length < limits) & going_on & (state.live.log_probs[:, 0] > NONE)


def initial_state(cache: Cache, limits: Int[Array, "B"], steps: int, rules: Rules) -> State:
    """One live hypothesis, the empty one, in the first beam of each sentence that may have any token."""
    none = no_hypotheses(limits.shape[0], rules.beam_size, steps, rules.pad_id)
    log_probs = none.log_probs.at[:, 0].set(jnp.where(limits > 0, 0.0, NONE))
    live = Live(jnp.zeros(limits.shape, jnp.int32), none.ids, log_probs, jnp.zeros_like(none.ids))
    return State(jnp.zeros((), jnp.int32), live, none, cache)


def last_ids(live: Live, position: Int[Array, ""], bos_id: int) -> Int[Array, "B beam"]:
    """The newest token of each live hypothesis, which stands at `position`; the begin token at position 0."""
    newest = jax.lax.dynamic_index_in_dim(live.ids, position - 1, axis=2, keepdims=False)
    return jnp.where(position == 0, bos_id, newest)


def divide(state: State, step_log_probs: LogProbs, rules: Rules) -> State:
    """The state one token later, its cache untouched: what ends is retired, the `beam` best others survive."""
    candidates = best_candidates(step_log_probs, state.live.log_probs)
    length = state.step + 1
    ids = gather_beams(state.live.ids, candidates.parents).at[:, :, state.step].set(candidates.tokens)
    ends = candidates.tokens == rules.eos_id
    log_probs = jnp.where(ends & rules.may_end(ends.shape[1]), candidates.log_probs, NONE)
    lengths = jnp.broadcast_to(length, ends.shape)
    newcomers = Hypotheses(ids, lengths, log_probs / rules.penalty(length), log_probs, ends)
    live_log_probs, places = jax.lax.top_k(jnp.where(ends, NONE, candidates.log_probs), rules.beam_size)
    live_ids, parents = gather_beams((ids, candidates.parents), places)
    live = Live(state.live.length + 1, live_ids, live_log_probs, gather_beams(state.live.lanes, parents))
    return State(length, live, retire(state.finished, newcomers), state.cache)


def advance(step: Step, state: State, searching: Bool[Array, "B"], rules: Rules) -> State:
    """One token more for the sentences that are `searching`; the others keep what they have."""
    own_lanes = jnp.broadcast_to(jnp.arange(rules.beam_size, dtype=jnp.int32), state.live.log_probs.shape)
    live = state.live._replace(lanes=state.live.lanes.at[:, :, state.step].set(own_lanes))
    step_log_probs, cache = step(live, state.step, state.cache)
    new = divide(state._replace(live=live), step_log_probs, rules)
    live, finished = where_rows(searching, (new.live, new.finished), (live, state.finished))
    return State(new.step, live, finished, cache)


def search(step: Step, state: State, limits: Int[Array, "B"], rules: Rules, *, few: Int[Array, ""] | int = 0) -> State:
    """Goes on until the buffers are full, or no more than `few` sentences are searching."""
    steps = state.live.ids.shape[2]

    def goes_on(state: State) -> Bool[Array, ""]:
        return (state.step < steps) & (is_searching(state, limits, rules).sum() > few)

    def go_on(state: State) -> State:
        return advance(step, state, is_searching(state, limits, rules), rules)

    return jax.lax.while_loop(goes_on, go_on, state)


def with_room(state: State, steps: int, pad_id: int) -> State:
    """The same state with buffers for `steps` steps; its cache is the caller's to enlarge."""
    longer = partial(pad_steps, steps=steps, pad_id=pad_id)
    live = state.live._replace(ids=longer(state.live.ids), lanes=longer(state.live.lanes))
    return state._replace(live=live, finished=state.finished._replace(ids=longer(state.finished.ids)))


def ranked(state: State, limits: Int[Array, "B"], rules: Rules) -> Hypotheses:
    """The finished hypotheses, then, in slots left over, the live ones that were cut off at their sentence's limit."""
    log_probs = state.live.log_probs
    is_live = (log_probs > NONE) & (state.live.length >= limits)[:, None]
    lengths = jnp.where(is_live, limits[:, None], 0)
    scores = jnp.where(is_live, log_probs / rules.penalty(limits)[:, None], NONE)
    cut_off = Hypotheses(state.live.ids, lengths, scores, jnp.where(is_live, log_probs, NONE), jnp.zeros_like(is_live))
    pool = jax.tree.map(lambda a, b: jnp.concatenate([a, b], axis=1), state.finished, cut_off)
    empty_last = jnp.argsort(pool.lengths == 0, axis=1, stable=True)
    return gather_beams(pool, empty_last[:, : rules.beam_size])


def beam_search(step: Step, cache: Cache, limits: Int[Array, "B"], rules: Rules, *, max_steps: int) -> Hypotheses:
    """The `beam_size` best hypotheses of each sentence, at once; can be jitted, with all but the arrays static.

    Args:
      step: gives the log-probabilities of the next token of each live hypothesis, and extends the cache.
      cache: what the step needs before the first token.
      limits: the most tokens a hypothesis of each sentence may have, the end token included; at most `max_steps` count.
        A sentence of limit 0 (padding of the batch) has no hypothesis.
      max_steps: size of the buffers, T.

    Returns:
      Finished hypotheses, best score first. Slots left over when a sentence reaches its limit hold the best unfinished
      ones, best first, scored by the same formula: so the first is unfinished only where no candidate ended in time.

    A sentence that is done does not change, so that its hypotheses do not depend on the rest of the batch.
    """
    if max_steps < 1:
        raise ValueError(f"max_steps = {max_steps}: must be at least 1")
    limits = jnp.clip(jnp.asarray(limits, jnp.int32), 0, max_steps)
    state = search(step, initial_state(cache, limits, max_steps, rules), limits, rules)
    return ranked(state, limits, rules)
