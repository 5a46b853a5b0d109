"""Where the time of a search goes: by program over a whole text, and by part within a step."""

import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from transformer_jax.config import Decoding
from transformer_jax.decoding.beam_search import Cache, State, advance, divide
from transformer_jax.decoding.generate import Generator
from transformer_jax.decoding.model_search import Programs, Request, model_step, search_rules
from transformer_jax.decoding.source_batches import source_batches
from transformer_jax.model.transformer import Params, Transformer

_PROGRAMS = {
    "encode": "encoder, memory of the source",
    "start": "empty cache",
    "go_on": "steps of the search",
    "rows": "leaving out sentences that are done",
    "with_room": "longer cache",
}
_COMPILED_AS = {name: f"jit(_{name})" for name in _PROGRAMS} | {"encode": "jit(apply)"}
_COMPILED = "/jax/core/compile/backend_compile_duration"
_CALLS = 20


class Compiled(NamedTuple):
    """Programs that were compiled, or read from the cache on disk."""

    shapes: dict[str, int]  # of the search's programs, by name
    programs: int  # all of them, with the small ones that move data about
    seconds: float


class Compilations:
    """Listens, from now on, to what is compiled."""

    def __init__(self) -> None:
        self._names: Counter[str] = Counter()
        self._seconds = 0.0
        jax.monitoring.register_event_duration_secs_listener(self._note)

    def _note(self, event: str, duration_secs: float, **of: str | int) -> None:
        if event == _COMPILED:
            self._names[str(of.get("fun_name"))] += 1
            self._seconds += duration_secs

    def so_far(self) -> Compiled:
        shapes = {name: self._names[compiled_as] for name, compiled_as in _COMPILED_AS.items()}
        return Compiled(shapes, self._names.total(), self._seconds)


def seconds_by_program(generator: Generator, sources: Sequence[Sequence[int]]) -> dict[str, float]:
    """Of one translation of all sources, each program waited for; the rest is Python's and copying to and fro."""
    seconds = dict.fromkeys(_PROGRAMS, 0.0)
    with _timed(generator._programs, seconds):
        started = time.monotonic()
        generator.generate(sources)
        total = time.monotonic() - started
    found = {text: seconds[name] for name, text in _PROGRAMS.items()}
    return {**found, "rest": total - sum(found.values())}


@contextmanager
def _timed(programs: Programs, seconds: dict[str, float]) -> Iterator[None]:
    own = {name: getattr(programs, name) for name in _PROGRAMS}

    def timed(name: str) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            started = time.monotonic()
            result = jax.block_until_ready(own[name](*args))
            seconds[name] += time.monotonic() - started
            return result

        return run

    for name in own:
        setattr(programs, name, timed(name))
    try:
        yield
    finally:
        for name, program in own.items():
            setattr(programs, name, program)


def milliseconds_of_a_step(
    model: Transformer, params: Params, decoding: Decoding, sources: Sequence[Sequence[int]]
) -> tuple[str, dict[str, float]]:
    """Of the parts of a step in the middle of the commonest batch, which is described, each compiled alone."""
    batch = _commonest_batch(model, decoding, sources)
    rows, length = batch.shape
    params, rules = jax.device_put(params), search_rules(decoding)
    programs = Programs(model, decoding)
    limits = jnp.full(rows, length, jnp.int32)
    nothing, no_prefix = jnp.zeros(rows, jnp.int32), jnp.zeros((rows, 0), jnp.int32)
    request = Request(programs.encode({"params": params}, batch), limits, nothing, no_prefix, nothing)

    state = programs.start(limits, length)._replace(step=jnp.asarray(length // 2, jnp.int32))

    def forward(cache: Cache, params: Params, request: Request, state: State) -> Any:
        ids, lanes = state.live.ids[:, :, 0], state.live.lanes
        return model.apply({"params": params}, ids, lanes, state.step, cache, request.source, method="decode_step")

    def step(cache: Cache, params: Params, request: Request, state: State) -> Any:
        return model_step(model, params, request)(state.live, state.step, cache)

    def choose(state: State, log_probs: jax.Array) -> State:
        return divide(state, log_probs, rules)

    def whole(state: State, params: Params, request: Request) -> State:
        return advance(model_step(model, params, request), state, jnp.ones(rows, bool), rules)

    without_cache = state._replace(cache=())
    log_probs, _ = jax.jit(step)(state.cache, params, request, without_cache)
    of_model, of_step = (_milliseconds(part, state.cache, params, request, without_cache) for part in (forward, step))
    of_whole = _milliseconds(whole, state, params, request)
    of_choice = _milliseconds(choose, without_cache, log_probs)
    return f"{rows} sentences of {length} positions, {decoding.beam_size} beams", {
        "model": of_model,
        "log-softmax, what may not be said": of_step - of_model,
        "top-k, histories, finished hypotheses": of_choice,
        "the whole step, compiled as one": of_whole,
    }


def _commonest_batch(model: Transformer, decoding: Decoding, sources: Sequence[Sequence[int]]) -> Any:
    sizes = {"longest": model.config.max_length, "beam_size": decoding.beam_size}
    batches = [batch.ids for batch in source_batches(sources, tokens_per_batch=decoding.tokens_per_batch, **sizes)]
    shape = Counter(ids.shape for ids in batches).most_common(1)[0][0]
    return next(ids for ids in batches if ids.shape == shape)


def _milliseconds(part: Callable[..., Any], donated: Any, *others: Any) -> float:
    """The memory of the first argument is the part's to reuse, as in the loop of a search."""
    program, times = jax.jit(part, donate_argnums=0), []
    for _ in range(_CALLS + 1):  # the first compiles
        own = jax.block_until_ready(jax.tree.map(jnp.copy, donated))
        started = time.monotonic()
        jax.block_until_ready(program(own, *others))
        times.append(time.monotonic() - started)
    return statistics.median(times[1:]) * 1e3
