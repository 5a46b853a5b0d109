"""A given translation is as probable as the model says, whatever stands beside it; a found one, as the search says."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import numpy_oracle
import pytest
from compilation import quick_to_compile_for_all
from random_params import param_shapes, random_params
from scipy.special import log_softmax
from tiny_experiment import tiny_experiment

from transformer_jax.decoding.forced import ForcedDecoder, target_log_probs
from transformer_jax.decoding.generate import Generator
from transformer_jax.decoding.model_search import Request, model_step, search_rules
from transformer_jax.decoding.pair_batches import Pair
from transformer_jax.decoding.sampling import Sampling, sample, sentence_keys
from transformer_jax.model.embedding import SequenceTooLongError
from transformer_jax.model.transformer import Transformer, empty_cache
from transformer_jax.special_ids import EOS_ID, PAD_ID

__all__ = ["quick_to_compile_for_all"]

VOCAB_SIZE = 29
EXPERIMENT = tiny_experiment(num_layers=2, beam_size=3, tokens_per_batch=640)
DECODING = EXPERIMENT.decoding
LENGTHS = [(3, 5), (16, 2), (17, 1), (31, 30), (2, 31), (5, 3), (7, 16), (11, 13), (1, 2), (13, 17), (1, 1)]


def random_sides(seed, lengths):
    """Ids with the end token; lengths with it."""
    rng = np.random.default_rng(seed)
    return [[*rng.integers(4, VOCAB_SIZE, length - 1).tolist(), EOS_ID] for length in lengths]


SIDES = [random_sides(seed, side) for seed, side in enumerate(zip(*LENGTHS, strict=True))]
PAIRS = [Pair(*sides) for sides in zip(*SIDES, strict=True)]


@pytest.fixture(scope="module")
def model():
    return Transformer(EXPERIMENT.model, VOCAB_SIZE)


@pytest.fixture(scope="module")
def params(model):
    """With these, some hypotheses end, at various lengths, and others are cut off."""
    return random_params(model.config, VOCAB_SIZE, seed=1)


@pytest.fixture(scope="module")
def decoder(model, params):
    return ForcedDecoder(model, params, DECODING)


@pytest.fixture(scope="module")
def forced(decoder):
    return decoder.score(PAIRS)


def penalty(length):
    return ((5 + length) / 6) ** 0.6


def exact_log_probs(params, pair):
    """In float64, without padding."""
    logits = numpy_oracle.transformer(EXPERIMENT.model, params, pair.source, pair.target)
    return log_softmax(logits, axis=1)[np.arange(len(pair.target)), pair.target]


def test_each_token_has_the_log_probability_of_the_paper_s_model(forced, params):
    """The end token is one of the tokens."""
    for pair, found in zip(PAIRS, forced, strict=True):
        log_probs = exact_log_probs(params, pair)
        np.testing.assert_allclose(found.token_log_probs, log_probs, atol=2e-5)
        assert found.log_prob == pytest.approx(log_probs.sum(), abs=1e-4)
        assert found.score == pytest.approx(log_probs.sum() / penalty(len(pair.target)), abs=1e-4)


def test_the_score_of_a_hypothesis_is_the_search_s(decoder, model, params):
    """Those that ended, and those that were cut off."""
    sources = random_sides(5, [2, 3, 5, 7, 11, 4, 9, 10])
    found = Generator(model, params, DECODING).generate(sources)
    pairs = [
        (Pair(source, best.ids + [EOS_ID] * best.finished), best)
        for source, own in zip(sources, found, strict=True)
        for best in own
    ]
    for (_, best), forced in zip(pairs, decoder.score([pair for pair, _ in pairs]), strict=True):
        assert forced.score == pytest.approx(best.score, abs=1e-4)
        assert forced.log_prob == pytest.approx(best.log_prob, abs=1e-4)
    assert {best.finished for _, best in pairs} == {True, False}
    assert len(pairs) == 3 * len(sources)


def test_and_that_of_a_sample_however_it_was_drawn(decoder, model, params):
    sources = random_sides(5, [7, 5, 3])
    ids = np.full((3, 7), PAD_ID, np.int32)
    for row, source in zip(ids, sources, strict=True):
        row[: len(source)] = source
    limits = jnp.array([9, 4, 8])

    @jax.jit
    def sampled(params, source):
        encoded = model.apply({"params": params}, source, deterministic=True, method="encode")
        nothing, numbers = jnp.zeros(3, int), jnp.arange(3)
        step = model_step(model, params, Request(encoded, limits, nothing, jnp.zeros((3, 0), int), numbers))
        keys, strange = sentence_keys(3, jnp.arange(3)), Sampling(1.5, 11, 0.9)
        cache = empty_cache(model.config, 3, 3, 9)
        return sample(step, cache, limits, search_rules(DECODING), strange, keys, max_steps=9)

    found = jax.tree.map(np.asarray, sampled(params, ids))
    pairs = [
        Pair(source, own[:length].tolist())
        for source, rows, lengths in zip(sources, found.ids, found.lengths, strict=True)
        for own, length in zip(rows, lengths, strict=True)
    ]
    forced = decoder.score(pairs)
    assert [own.log_prob for own in forced] == pytest.approx(found.log_probs.ravel(), abs=1e-4)
    assert [own.score for own in forced] == pytest.approx(found.scores.ravel(), abs=1e-4)
    assert len({tuple(pair.target) for pair in pairs}) > 6


def test_a_pair_does_not_depend_on_the_others(decoder, forced):
    """Alone, the other way round, and as one of so many that a batch has more positions than logits exist at a time."""
    short = [pair for pair in PAIRS if max(map(len, pair)) <= 16]
    mates = zip(*(random_sides(seed, np.arange(33) % 16 + 1) for seed in (7, 8)), strict=True)
    for others in ([PAIRS[0]], PAIRS[::-1], [*(Pair(*mate) for mate in mates), *short]):
        for pair, ours in zip(others, decoder.score(others), strict=True):
            if pair in PAIRS:
                theirs = forced[PAIRS.index(pair)]
                np.testing.assert_allclose(ours.token_log_probs, theirs.token_log_probs, atol=1e-5)
                assert ours[:2] == pytest.approx(theirs[:2], abs=1e-5)


def test_a_cut_off_target_lacks_the_end_token_s_part(decoder, forced):
    whole = forced[0]
    (cut,) = decoder.score([PAIRS[0]._replace(target=PAIRS[0].target[:-1])])
    np.testing.assert_allclose(cut.token_log_probs, whole.token_log_probs[:-1], atol=1e-6)
    assert cut.score == pytest.approx(sum(whole.token_log_probs[:-1]) / penalty(4), abs=1e-5)


def test_an_empty_source_is_scored_as_any_other(forced):
    """The end token alone; its targets are not all the same, and none is certain."""
    assert all(len(PAIRS[i].source) == 1 and -20 < forced[i].log_prob < -0.5 for i in (8, 10))
    assert forced[10].token_log_probs == pytest.approx([forced[10].log_prob])


def test_no_tokens_at_all_are_certain(model, params):
    """A penalty of length 0 would be 0."""
    decoder = ForcedDecoder(model, params, dataclasses.replace(DECODING, length_penalty_offset=0.0))
    assert decoder.score([Pair([EOS_ID], [])]) == [(0.0, 0.0, [])]


def test_no_pairs_have_no_scores(decoder):
    assert decoder.score([]) == []


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_side_that_is_too_long_is_refused(decoder, side):
    (long,) = random_sides(7, [32])
    with pytest.raises(SequenceTooLongError, match=r"a sequence of 32 tokens is longer than Model\.max_length = 31"):
        decoder.score([PAIRS[0], PAIRS[1]._replace(**{side: long})])


def test_log_probabilities_are_of_float32_whatever_the_model_computes_in(params):
    narrow = Transformer(dataclasses.replace(EXPERIMENT.model, compute_dtype="bfloat16"), VOCAB_SIZE)
    (found,) = ForcedDecoder(narrow, params, DECODING).score([PAIRS[7]])
    np.testing.assert_allclose(found.token_log_probs, exact_log_probs(params, PAIRS[7]), atol=0.1)
    assert np.float32(jnp.bfloat16(found.log_prob)) != np.float32(found.log_prob)


def test_the_logits_of_a_whole_batch_never_exist(model):
    """What a program holds at a time, for a large vocabulary, is a fraction of them."""
    vocab, rows, length = 20_011, 128, 31
    wide = Transformer(model.config, vocab)
    ids = jax.ShapeDtypeStruct((rows, length), jnp.int32)
    program = jax.jit(lambda *inputs: target_log_probs(wide, *inputs))
    compiled = program.lower(param_shapes(model.config, vocab), ids, ids).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < math.prod((rows, length, vocab)) * 4 / 2
