"""The model under the search, section 6.1: its step, the rules of a config, and the compiled parts of a search."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from transformer_jax import config
from transformer_jax.decoding.beam_search import (
    Live,
    LogProbs,
    Rules,
    State,
    Step,
    beam_search,
    initial_state,
    is_searching,
    last_ids,
    ranked,
    search,
    with_room,
)
from transformer_jax.decoding.constraints import beginning_with, constrained, not_ending_before, without
from transformer_jax.decoding.hypotheses import Hypotheses
from transformer_jax.decoding.sampling import Sampling, drawn, independent, sentence_keys, until_all_end
from transformer_jax.decoding.tree_constraint import tree_constraint
from transformer_jax.decoding.tree_symbols import TreeSymbolError, TreeSymbols
from transformer_jax.model.transformer import Params, Source, Transformer, empty_cache, longer_cache
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID


class Request(NamedTuple):
    """What is asked for in each row of a batch."""

    source: Source
    limits: Int[Array, "B"]  # tokens at most, the end token included
    least: Int[Array, "B"]  # tokens at least, before the end token
    prefix: Int[Array, "B P"]  # the tokens that the hypotheses begin with; then padding
    sentences: Int[Array, "B"]  # their numbers in the whole input, on which what is sampled depends
    words: Int[Array, "B W"] | None = None  # classes of the words that a tree is to be over, -1 beyond; None: no tree


def model_step(model: Transformer, params: Params, request: Request, symbols: TreeSymbols | None = None) -> Step:
    """The model under the search, which may say neither begin token nor padding, nor break the request.

    Args:
      symbols: of trees, where the request has words.
    """

    def step(live: Live, position: Array, cache: Any) -> tuple[LogProbs, Any]:
        ids = last_ids(live, position, BOS_ID)
        logits, cache = model.apply(
            {"params": params}, ids, live.lanes, position, cache, request.source, method="decode_step"
        )
        return jax.nn.log_softmax(logits), cache

    constraints = [
        without(PAD_ID, BOS_ID),
        not_ending_before(request.least, EOS_ID),
        beginning_with(request.prefix, PAD_ID),
    ]
    if symbols is not None and request.words is not None:
        constraints.append(tree_constraint(symbols, request.words, request.limits, EOS_ID))
    return constrained(step, *constraints)


def search_rules(decoding: config.Decoding) -> Rules:
    """The rules of a config."""
    return Rules(
        beam_size=decoding.beam_size,
        alpha=decoding.length_penalty,
        offset=decoding.length_penalty_offset,
        stop=decoding.stop,
        bos_id=BOS_ID,
        eos_id=EOS_ID,
        pad_id=PAD_ID,
    )


def sampling_of(decoding: config.Decoding) -> Sampling | None:
    """The distribution to sample from; None: beam search."""
    if decoding.sampling_temperature is None:
        return None
    return Sampling(decoding.sampling_temperature, decoding.sampling_top_k, decoding.sampling_nucleus)


def require_symbols(decoding: config.Decoding, symbols: TreeSymbols | None) -> None:
    """Raises TreeSymbolError where a search for trees has none: one for anything would take its place unseen."""
    if decoding.constrained_to_trees and symbols is None:
        raise TreeSymbolError("Decoding.constrained_to_trees = True: only a parser can search for trees")


class Programs:
    """The compiled parts of a search, each for every shape that it meets."""

    def __init__(self, model: Transformer, decoding: config.Decoding, symbols: TreeSymbols | None = None):
        require_symbols(decoding, symbols)
        self._model, self._rules, self._symbols = model, search_rules(decoding), symbols
        self._sampling, self._seed = sampling_of(decoding), decoding.sampling_seed
        if self._sampling:
            self._rules = until_all_end(self._rules)
        self.encode = jax.jit(partial(model.apply, deterministic=True, method="encode"))
        self.start = jax.jit(self._start, static_argnums=1)
        self.go_on = jax.jit(self._go_on)
        self.with_room = jax.jit(self._with_room, static_argnums=1)
        self.rows = jax.jit(self._rows)

    def _start(self, limits: Int[Array, "B"], steps: int) -> State:
        cache = empty_cache(self._model.config, limits.shape[0], self._rules.beam_size, steps)
        state = initial_state(cache, limits, steps, self._rules)
        return independent(state) if self._sampling else state

    def _go_on(
        self, params: Params, request: Request, state: State, few: Int[Array, ""]
    ) -> tuple[State, Bool[Array, "B"], Hypotheses]:
        """Until the buffers are full or few sentences are left; which these are, and what the others have found."""
        step = model_step(self._model, params, request, self._symbols)
        if self._sampling:
            step = constrained(step, drawn(self._sampling, sentence_keys(self._seed, request.sentences)))
        state = search(step, state, request.limits, self._rules, few=few)
        return state, is_searching(state, request.limits, self._rules), ranked(state, request.limits, self._rules)

    def _with_room(self, state: State, steps: int) -> State:
        more = (steps - state.live.ids.shape[2]) * self._rules.beam_size
        return with_room(state, steps, PAD_ID)._replace(cache=longer_cache(state.cache, more))

    @staticmethod
    def _rows(tree: tuple[Request, State], rows: Int[Array, "rows"]) -> tuple[Request, State]:
        return jax.tree.map(lambda leaf: leaf[rows] if leaf.ndim else leaf, tree)


def make_search(
    model: Transformer, decoding: config.Decoding, *, max_steps: int
) -> Callable[[Params, Int[Array, "B S"], Int[Array, "B"]], Hypotheses]:
    """`search(params, source, limits)` as one function, for who cannot take it in parts: an exported program.

    Raises:
      TreeSymbolError: it would have to search for trees.
    """
    require_symbols(decoding, None)

    def whole(params: Params, source: Int[Array, "B S"], limits: Int[Array, "B"]) -> Hypotheses:
        encoded: Any = model.apply({"params": params}, source, deterministic=True, method="encode")
        nothing = jnp.zeros_like(limits)
        request = Request(
            encoded, limits, nothing, jnp.zeros((source.shape[0], 0), jnp.int32), jnp.arange(source.shape[0])
        )
        cache = empty_cache(model.config, source.shape[0], decoding.beam_size, max_steps)
        return beam_search(
            model_step(model, params, request), cache, limits, search_rules(decoding), max_steps=max_steps
        )

    return whole
