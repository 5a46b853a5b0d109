"""A translation is the same whatever it was found beside, and on whatever way."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from decoding.small_generator import (
    DECODING,
    MODEL,
    SHORT,
    SOURCES,
    VOCAB_SIZE,
    assert_same,
    assert_scored,
    generator,
    like_it,
    limit,
    params,
    random_sources,
    translations,
    use_devices,
)

from transformer_jax.decoding.beam_search import beam_search
from transformer_jax.decoding.constraints import constrained, without
from transformer_jax.decoding.generate import Generator
from transformer_jax.decoding.model_search import make_search, search_rules
from transformer_jax.special_ids import BOS_ID, PAD_ID

pytestmark = pytest.mark.usefixtures("quick_to_compile", "one_device")


@pytest.fixture(name="hypotheses")
def _hypotheses():
    return translations()


def test_a_translation_does_not_depend_on_the_rest_of_the_batch(hypotheses):
    """Alone, in the other order, and with other mates."""
    for i in (0, 3, 4, 6):
        assert_same(generator().generate([SOURCES[i]]), [hypotheses[i]])
    assert_same(generator().generate(SOURCES[::-1])[::-1], hypotheses)
    assert_same(generator().generate([*random_sources(2, [14, 31, 2]), *SOURCES[:8]])[3:], hypotheses[:8])


def late(length, count):
    """Sources that are searched up to their limit."""
    pool = random_sources(3, [length] * 160)
    own = zip(pool, generator().generate(pool), strict=True)
    return [source for source, found in own if not all(one.finished for one in found)][:count]


def in_parts(sources):
    """Translations by batches of up to forty rows; of each part of a search, its shape and how many rows hold any."""
    wide, parts = like_it(tokens_per_batch=16 * 3 * 40), []
    go_on = wide._programs.go_on

    def noted(values, request, state, few):
        parts.append((*request.source.mask.shape, state.live.ids.shape[2], int((request.limits > 0).sum())))
        assert len(parts) < 50, "it goes on for ever"
        return go_on(values, request, state, few)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wide._programs, "go_on", noted)
        return wide.generate(sources), parts


@pytest.mark.parametrize(("lengths", "steps"), [((8, 10), [16, 16]), ((10, 16), [16, 16, 31])])
def test_nor_on_whether_the_batch_loses_rows(lengths, steps):
    """Of forty, ten are left after seven steps, two too many for eight rows: they go on as they are until three of them
    are done as well. The seven others, and nothing in the eighth row, end soon or in a part with more steps. Programs
    of eight rows, which are those of `translations`, are not compiled again.
    """
    sources = [*random_sources(3, [2] * 30), *late(lengths[0], 3), *late(lengths[1], 7)]
    expected, compiled = generator().generate(sources), generator()._programs.go_on._cache_size
    before, (found, parts) = compiled(), in_parts(sources)
    assert compiled() - before <= 1
    assert_same(found, expected)
    assert [(rows, steps, asked) for rows, _, _, _, steps, asked in parts] == [
        (40, 16, 40), *[(8, room, 7) for room in steps[1:]],
    ]  # fmt: skip


def test_nor_on_how_many_rows_a_batch_has(hypotheses):
    found, parts = in_parts([*random_sources(3, [2] * 30), *SOURCES])
    assert_same(found[30:], hypotheses)
    assert {rows for rows, *_ in parts} == {40, 16, 8}


def test_nor_on_how_long_the_batch_is(hypotheses):
    """`Generator` pads a source always alike; the search would not mind if it did not."""
    search = jax.jit(make_search(MODEL, DECODING, max_steps=16))
    batch = np.full((len(SHORT), 23), PAD_ID, np.int32)
    for row, source in enumerate(SHORT):
        batch[row, : len(source)] = source
    found = search(params(), batch, np.array([limit(source) for source in SHORT], np.int32))
    assert_found(found, hypotheses)


def assert_found(found, hypotheses):
    """The search of `SHORT` gives what `Generator` gave."""
    expected = [own for source, own in zip(SOURCES, hypotheses, strict=True) if source in SHORT]
    for row, own in enumerate(expected):
        ids, lengths, finished = (np.asarray(part)[row] for part in (found.ids, found.lengths, found.finished))
        bodies = [ids[beam, : lengths[beam] - finished[beam]].tolist() for beam in range(3)]
        assert bodies == [one.ids for one in own]
        np.testing.assert_allclose(found.scores[row], [one.score for one in own], atol=1e-5)


def test_nor_on_the_cache(hypotheses):
    """A step that reads every hypothesis from its first token each time finds the same."""

    @jax.jit
    def search(values, source, limits):
        def step(live, position, cache):
            target = live.ids.reshape(-1, 16)
            logits = MODEL.apply({"params": values}, jnp.repeat(source, 3, axis=0), target, deterministic=True)
            newest = jax.lax.dynamic_index_in_dim(logits, position, axis=1, keepdims=False)
            return jax.nn.log_softmax(newest).reshape(-1, 3, VOCAB_SIZE), cache

        step = constrained(step, without(PAD_ID, BOS_ID))
        return beam_search(step, (), limits, search_rules(DECODING), max_steps=16)

    batch = jnp.array([source + [PAD_ID] * (16 - len(source)) for source in SHORT], jnp.int32)
    assert_found(search(params(), batch, jnp.array([limit(source) for source in SHORT])), hypotheses)


def test_nor_on_the_devices(monkeypatch):
    """One batch on one, then five on three."""
    sources = SHORT * 5
    expected = like_it().generate(SHORT)
    use_devices(monkeypatch, 3)
    used = set()
    spread = like_it()
    start = spread._programs.start

    def noted(limits, steps):
        used.update(limits.devices())
        return start(limits, steps)

    monkeypatch.setattr(spread._programs, "start", noted)
    assert_same(spread.generate(sources), expected * 5)
    assert used == set(jax.devices()[:3])


def test_nor_does_one_that_is_done_while_others_go_on_change():
    """Under the rule that leaves most alive behind."""
    early = Generator(MODEL, params(), dataclasses.replace(DECODING, stop="first_finished"))
    together = early.generate(SHORT)
    for i, source in enumerate(SHORT):
        assert_same(early.generate([source]), [together[i]])
        assert_scored(source, together[i][0])
    assert {len(own) for own in together} == {1, 3}, "one that has finished, or three that were cut off"


def test_few_shapes_are_compiled(hypotheses):
    """Sources of 16 with steps of 16 and 31, and sources of 31, and no more whatever else is translated."""
    assert len(hypotheses) == len(SOURCES)
    before = generator()._programs.go_on._cache_size()
    generator().generate(random_sources(5, [6, 8, 12, 13, 14, 15, 15, 19, 26]))
    assert generator()._programs.go_on._cache_size() == before
