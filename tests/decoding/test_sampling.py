"""Samples are distributed as the model says, each is its sentence's own, and each is scored as the model finds it."""

import itertools
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from decoding.toy_search import (
    EOS,
    as_lists,
    empty_cache,
    found_in,
    lane_step,
    log_prob_of,
    penalty,
    random_tables,
    row_of,
    rules,
)
from scipy import stats

from transformer_jax.decoding.constraints import constrained, not_ending_before
from transformer_jax.decoding.sampling import Sampling, draw, sample, sentence_keys

pytestmark = pytest.mark.usefixtures("quick_to_compile")

VOCAB, LENGTH = 4, 3
SENTENCES, SAMPLES = 500, 40
KEYS = sentence_keys(1, jnp.arange(SENTENCES))
PLAIN = Sampling(temperature=1.0, top_k=None, nucleus=None)


@partial(jax.jit, static_argnames=("kept", "sampling", "least"))
def samples_of(tables, limits, keys, kept, sampling, least=0):
    step = constrained(lane_step(tables), not_ending_before(jnp.full(len(tables), least), EOS))
    cache = empty_cache(len(tables), kept.beam_size, tables.shape[1])
    return sample(step, cache, limits, kept, sampling, keys, max_steps=tables.shape[1])


def drawn_from(row, sampling, *, may_end=True):
    """The distribution of the next token, slowly."""
    probs = {token: math.exp(log_prob) for token, log_prob in enumerate(row) if may_end or token != EOS}
    probs = {token: p ** (1 / sampling.temperature) for token, p in probs.items()}
    ranked = sorted(probs, key=lambda token: -probs[token])[: sampling.top_k]
    total, reached, kept = sum(probs[token] for token in ranked), 0.0, []
    for token in ranked:
        if sampling.nucleus is None or reached < sampling.nucleus:
            kept.append(token)
        reached += probs[token] / total
    return {token: probs[token] / sum(probs[other] for other in kept) for token in kept}


def outcomes(table, sampling, least):
    """The probability of everything that can be sampled."""
    found, live = {}, {(): 1.0}
    for position in range(LENGTH):
        longer = {}
        for ids, p in live.items():
            for token, q in drawn_from(row_of(table, ids), sampling, may_end=position >= least).items():
                (found if token == EOS else longer)[(*ids, token)] = p * q
        live = longer
    return found | live


def test_the_oracle_by_hand():
    row = np.log([0.1, 0.2, 0.3, 0.4])
    assert drawn_from(row, PLAIN) == pytest.approx({3: 0.4, 2: 0.3, 1: 0.2, 0: 0.1})
    assert drawn_from(row, Sampling(0.5, 3, None)) == pytest.approx({3: 16 / 29, 2: 9 / 29, 1: 4 / 29})
    assert drawn_from(row, Sampling(1.0, None, 0.65)) == pytest.approx({3: 4 / 7, 2: 3 / 7})


@pytest.mark.parametrize(
    ("sampling", "least"),
    [(PLAIN, 0), (Sampling(0.7, 3, None), 0), (Sampling(1.5, None, 0.8), 0), (PLAIN, 1)],
    ids=["plain", "temperature and top k", "nucleus", "a least length"],
)
def test_frequencies_are_the_probabilities(sampling, least):
    """20,000 samples of one toy; outcomes expected less than five times are counted together."""
    table = random_tables(7, batch=1, vocab=VOCAB, length=LENGTH)
    expected = outcomes(table[0], sampling, least)
    assert sum(expected.values()) == pytest.approx(1)
    tables, limits = np.repeat(table, SENTENCES, axis=0), np.full(SENTENCES, LENGTH)
    kept = rules(beam_size=SAMPLES)
    found = as_lists(samples_of(tables, limits, KEYS, kept, sampling, least))
    counts = dict.fromkeys(expected, 0)
    for ids, *_ in itertools.chain.from_iterable(found):
        counts[ids] += 1
    drawn = SENTENCES * SAMPLES
    assert sum(counts.values()) == drawn
    rare = [ids for ids, p in expected.items() if p * drawn < 5]
    groups = [[ids] for ids in expected if ids not in rare] + [rare] * bool(rare)
    seen = [sum(counts[ids] for ids in group) for group in groups]
    wanted = [sum(expected[ids] for ids in group) * drawn for group in groups]
    assert stats.chisquare(seen, wanted).pvalue > 0.01


def test_samples_are_independent_in_a_sentence_and_between_sentences():
    """How many of a sentence's samples are one outcome is binomial: neither spread more widely, nor less."""
    table = random_tables(7, batch=1, vocab=VOCAB, length=LENGTH)
    expected = outcomes(table[0], PLAIN, 0)
    outcome = max(expected, key=expected.__getitem__)
    tables, limits = np.repeat(table, SENTENCES, axis=0), np.full(SENTENCES, LENGTH)
    found = as_lists(samples_of(tables, limits, KEYS, rules(beam_size=SAMPLES), PLAIN))
    counts = np.array([sum(ids == outcome for ids, *_ in own) for own in found])
    p = expected[outcome]
    dispersion = ((counts - SAMPLES * p) ** 2).sum() / (SAMPLES * p * (1 - p))
    assert 0.005 < stats.chi2.sf(dispersion, SENTENCES) < 0.995


# p, the options, and the tokens that may be drawn.
HAND_WORKED = [
    ([0.125, 0.5, 0.25, 0.125], PLAIN, {0, 1, 2, 3}),
    ([0.125, 0.5, 0.25, 0.125], Sampling(1.0, 1, None), {1}),
    ([0.125, 0.5, 0.25, 0.125], Sampling(1.0, 2, None), {1, 2}),
    ([0.125, 0.5, 0.25, 0.125], Sampling(1.0, 3, None), {0, 1, 2}),  # of equals the lower id
    ([0.125, 0.5, 0.25, 0.125], Sampling(1.0, 9, None), {0, 1, 2, 3}),
    ([0.125, 0.5, 0.25, 0.125], Sampling(1.0, None, 1e-9), {1}),
    ([0.125, 0.5, 0.25, 0.125], Sampling(1.0, None, 0.5), {1}),
    ([0.125, 0.5, 0.25, 0.125], Sampling(1.0, None, 0.51), {1, 2}),
    ([0.125, 0.5, 0.25, 0.125], Sampling(1.0, None, 0.75), {1, 2}),
    ([0.125, 0.5, 0.25, 0.125], Sampling(1.0, None, 0.76), {0, 1, 2}),
    ([0.125, 0.5, 0.25, 0.125], Sampling(1.0, None, 1.0), {0, 1, 2, 3}),
    # The temperature comes first: squares are 16/22, 4/22, 1/22, 1/22; and near equality two are half of all.
    ([0.125, 0.5, 0.25, 0.125], Sampling(0.5, None, 0.7), {1}),
    ([0.125, 0.5, 0.25, 0.125], Sampling(1e6, None, 0.5), {1, 2}),
    # Then the top k, which leaves 2/3 and 1/3; then the nucleus, of what is left.
    ([0.125, 0.5, 0.25, 0.125], Sampling(1.0, 2, 0.6), {1}),
    ([0.125, 0.5, 0.25, 0.125], Sampling(1.0, 2, 0.7), {1, 2}),
    # What is forbidden is never drawn, not even to fill up the k.
    ([0.0, 0.75, 0.0, 0.25], Sampling(50.0, 3, 1.0), {1, 3}),
    ([0.0, 1.0, 0.0, 0.0], PLAIN, {1}),
]  # fmt: skip


@pytest.mark.parametrize(("probs", "sampling", "tokens"), HAND_WORKED)
def test_top_k_and_nucleus_by_hand(probs, sampling, tokens):
    with np.errstate(divide="ignore"):
        log_probs = jnp.log(jnp.array(probs))
    keys = jax.random.split(jax.random.key(3), 400)
    drawn = jax.vmap(lambda key: draw(key, log_probs, sampling))(keys)
    assert set(drawn.tolist()) == tokens


BATCH, LONGER = 31, 5
LIMITS = np.arange(BATCH) % (LONGER + 1)
TABLES = random_tables(5, batch=BATCH, vocab=VOCAB, length=LONGER)
KEPT = rules(beam_size=3, stop="first_finished")  # which stops no sample
WARM = Sampling(temperature=1.3, top_k=None, nucleus=0.95)


@pytest.fixture(scope="module")
def warm():
    """Samples of toys with all limits."""
    return samples_of(TABLES, LIMITS, KEYS[:BATCH], KEPT, WARM)


def test_near_no_temperature_all_samples_are_the_greedy_hypothesis():
    cold = as_lists(samples_of(TABLES, LIMITS, KEYS[:BATCH], KEPT, Sampling(1e-30, None, None)))
    greedy = as_lists(found_in(TABLES, LIMITS, rules(beam_size=1)))
    for own, best in zip(cold, greedy, strict=True):
        assert [(ids, finished) for ids, _, _, finished in own] == [(ids, finished) for ids, _, _, finished in best] * 3


def test_scores_are_those_of_the_step_not_of_what_was_drawn_from(warm):
    for table, own in zip(TABLES, as_lists(warm), strict=True):
        for ids, score, log_prob, _ in own:
            assert log_prob == pytest.approx(log_prob_of(table, ids), rel=2e-6)
            assert score == pytest.approx(log_prob / penalty(len(ids), KEPT), rel=2e-6)


def test_a_sample_ends_or_reaches_its_limit_and_the_best_comes_first(warm):
    lists = as_lists(warm)
    for limit, own in zip(LIMITS, lists, strict=True):
        assert len(own) == (3 if limit else 0)
        for ids, _, _, finished in own:
            assert EOS not in ids[:-1]
            assert (ids[-1] == EOS) == finished
            assert len(ids) == limit or (finished and len(ids) < limit)
        assert own == sorted(own, key=lambda hypothesis: (not hypothesis[3], -hypothesis[1]))
    assert {finished for own in lists for *_, finished in own} == {True, False}
    assert any(len({ids for ids, *_ in own}) == 3 for own in lists)


def test_samples_do_not_depend_on_what_is_beside_the_sentence(warm):
    """With other mates, in the other order."""
    some = np.resize([29, 5, 11, 10, 9], BATCH)
    apart = samples_of(TABLES[some], LIMITS[some], KEYS[some], KEPT, WARM)
    for ours, theirs in zip(apart, warm, strict=True):
        np.testing.assert_array_equal(ours, theirs[some])


def test_but_on_the_seed_and_on_which_sentence_it_is(warm):
    """Two times the same sentence is not two times the same sample."""
    other_seed = samples_of(TABLES, LIMITS, sentence_keys(2, jnp.arange(BATCH)), KEPT, WARM)
    other_places = samples_of(TABLES, LIMITS, KEYS[BATCH : 2 * BATCH], KEPT, WARM)
    ours = as_lists(warm)
    for theirs in (as_lists(other_seed), as_lists(other_places)):
        assert sum(own != other for own, other in zip(ours, theirs, strict=True)) > BATCH / 2


@pytest.mark.parametrize(
    ("sampling", "said"),
    [
        ((0.0, None, None), r"temperature = 0\.0: must be positive"),
        ((1.0, 0, None), r"top_k = 0: must be at least 1"),
        ((1.0, None, 0.0), r"nucleus = 0\.0: must be above 0 and at most 1"),
        ((1.0, None, 1.5), r"nucleus = 1\.5: must be above 0 and at most 1"),
    ],
)
def test_what_is_no_distribution_is_refused(sampling, said):
    with pytest.raises(ValueError, match=f"^{said}$"):
        Sampling(*sampling)
