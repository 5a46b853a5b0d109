"""Translations are what the model's probabilities say, whatever the batch they were found in."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from random_params import random_params

from transformer_jax import config
from transformer_jax.decoding.generate import Generator, make_search
from transformer_jax.model.embedding import SequenceTooLongError
from transformer_jax.model.transformer import Transformer
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID

VOCAB_SIZE = 29
MAX_LENGTH = 31  # of small_model
EXTRA = 5
DECODING = config.Decoding(
    average_checkpoints=1, beam_size=3, length_penalty=0.6, length_penalty_offset=5.0, max_extra_length=EXTRA,
    tokens_per_batch=16 * 3 * 8,
)  # fmt: skip
GREEDY = dataclasses.replace(DECODING, beam_size=1, tokens_per_batch=16 * 8)


@pytest.fixture(scope="module", autouse=True)
def quick_to_compile_for_all():
    """Most of the time would go into XLA's optimisations."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def random_sources(seed, lengths):
    """Ids with the end token; lengths with it."""
    rng = np.random.default_rng(seed)
    return [[*rng.integers(4, VOCAB_SIZE, length - 1).tolist(), EOS_ID] for length in lengths]


# Both sides of every batch length (16, and 31, where the model ends), the shortest, and more than a batch of rows.
LENGTHS = [2, 3, 5, 16, 17, 23, 31, 7, 7, 2, 11, 13, 30, 15, 4, 9]
SOURCES = random_sources(1, LENGTHS)
SHORT = [source for source in SOURCES if len(source) <= 16]


@pytest.fixture(scope="module")
def model():
    sizes = config.Model(
        num_layers=2, d_model=14, d_ff=23, num_heads=3, d_k=5, d_v=7, dropout_rate=0.1, attention_dropout_rate=0.0,
        feed_forward_dropout_rate=0.0, positions="sinusoidal", max_length=MAX_LENGTH, pre_norm=False,
        attention_biases=False, shared_embedding=True, layer_norm_epsilon=1e-6, compute_dtype="float32",
    )  # fmt: skip
    return Transformer(sizes, VOCAB_SIZE)


@pytest.fixture(scope="module")
def params(model):
    """With these, some hypotheses end, at various lengths, and others are cut off."""
    return random_params(model.config, VOCAB_SIZE, seed=1)


@pytest.fixture(scope="module")
def generator(model, params):
    return Generator(model, params, DECODING)


@pytest.fixture(scope="module")
def hypotheses(generator):
    return generator.generate(SOURCES)


@pytest.fixture(scope="module")
def log_probs(model, params):
    """Log-probabilities [T, vocab] of every next token of one target, by teacher forcing, in one compiled shape."""

    @jax.jit
    def forced(params, source, target):
        return jax.nn.log_softmax(model.apply({"params": params}, source, target, deterministic=True))[0]

    def padded(ids):
        return jnp.array([ids + [PAD_ID] * (MAX_LENGTH - len(ids))], jnp.int32)

    return lambda source, target, params=params: np.array(forced(params, padded(source), padded(target)))


def limit(source):
    return min(len(source) + EXTRA, MAX_LENGTH)


def test_the_sources_try_all_cases(hypotheses):
    """What the laws below are about does occur."""
    assert {best.finished for best in hypotheses} == {True, False}
    assert len({len(best.ids) for best in hypotheses}) > 3
    assert len({tuple(best.ids) for best in hypotheses}) > len(SOURCES) // 2


def test_the_score_is_that_of_teacher_forcing(hypotheses, log_probs):
    for source, best in zip(SOURCES, hypotheses, strict=True):
        target = best.ids + [EOS_ID] * best.finished
        each = log_probs(source, target)[np.arange(len(target)), target]
        assert best.log_prob == pytest.approx(each.sum(), abs=1e-4)
        penalty = ((5 + len(target)) / (5 + 1)) ** 0.6
        assert best.score == pytest.approx(each.sum() / penalty, abs=1e-4)


def test_a_hypothesis_ends_or_reaches_its_own_limit(hypotheses):
    """The limit is the sentence's, not its batch's."""
    for source, best in zip(SOURCES, hypotheses, strict=True):
        assert len(best.ids) + best.finished <= limit(source)
        if not best.finished:
            assert len(best.ids) == limit(source)


def test_no_hypothesis_holds_a_token_that_is_none(hypotheses):
    for best in hypotheses:
        assert {PAD_ID, BOS_ID, EOS_ID}.isdisjoint(best.ids)
        assert all(0 <= id < VOCAB_SIZE for id in best.ids)


def test_not_even_where_the_model_wants_it(generator, model, params, log_probs):
    """The longest rows of the softmax's table are those two's."""
    table = np.array(params["source_embedding"]["table"])
    table[[PAD_ID, BOS_ID]] *= 40
    wanting = {**params, "source_embedding": {"table": jnp.asarray(table)}}
    assert int(log_probs(SOURCES[2], [5, 7], wanting)[0].argmax()) in (PAD_ID, BOS_ID)
    swapped = Generator(model, wanting, DECODING)
    swapped._search = generator._search  # compiled already
    for best in swapped.generate(SOURCES[:5]):
        assert {PAD_ID, BOS_ID}.isdisjoint(best.ids)


def same(ours, theirs):
    return ours.ids == theirs.ids and ours.finished == theirs.finished and abs(ours.score - theirs.score) < 1e-5


def test_a_translation_does_not_depend_on_the_rest_of_the_batch(generator, hypotheses):
    """Alone, in the other order, and with other mates."""
    for i in (0, 3, 4, 6):
        assert same(generator.generate([SOURCES[i]])[0], hypotheses[i])
    turned = generator.generate(SOURCES[::-1])[::-1]
    assert all(same(ours, theirs) for ours, theirs in zip(turned, hypotheses, strict=True))
    mixed = generator.generate([*random_sources(2, [14, 31, 2]), *SOURCES[:8]])[3:]
    assert all(same(ours, theirs) for ours, theirs in zip(mixed, hypotheses[:8], strict=True))


def test_nor_on_how_long_the_batch_is(model, params, hypotheses):
    """`Generator` pads a source always alike; the search would not mind if it did not."""
    search = jax.jit(make_search(model, DECODING))
    short = [i for i, source in enumerate(SOURCES) if source in SHORT]
    batch = np.full((len(short), 23), PAD_ID, np.int32)
    for row, i in enumerate(short):
        batch[row, : len(SOURCES[i])] = SOURCES[i]
    limits = np.array([len(SOURCES[i]) + EXTRA for i in short], np.int32)
    found = search(params, batch, limits)
    for row, i in enumerate(short):
        length = int(found.lengths[row, 0]) - bool(found.finished[row, 0])
        assert found.ids[row, 0, :length].tolist() == hypotheses[i].ids
        assert float(found.scores[row, 0]) == pytest.approx(hypotheses[i].score, abs=1e-5)


@pytest.fixture(scope="module")
def greedy(model, params):
    return Generator(model, params, GREEDY).generate(SHORT)


def test_a_beam_of_one_takes_the_most_probable_token_each_time(greedy, log_probs):
    for source, best in zip(SHORT, greedy, strict=True):
        ids, finished = [], False
        while len(ids) < limit(source) and not finished:
            row = log_probs(source, [*ids, 4])[len(ids)]  # the last id is not read
            row[[PAD_ID, BOS_ID]] = -np.inf
            finished = int(row.argmax()) == EOS_ID
            ids += [] if finished else [int(row.argmax())]
        assert (best.ids, best.finished) == (ids, finished)


def test_a_wider_beam_scores_better_on_average(greedy, hypotheses):
    """No law of beam search, sentence by sentence; but were it otherwise here, beams would be mixed up."""
    wider = [best.score for source, best in zip(SOURCES, hypotheses, strict=True) if source in SHORT]
    assert len(wider) == len(greedy)
    assert np.mean(wider) > np.mean([best.score for best in greedy])


def test_few_shapes_are_compiled(generator, hypotheses):
    """Two lengths, 16 and the model's 31, and no more whatever else is translated."""
    assert len(hypotheses) == len(SOURCES)
    generator.generate(random_sources(5, [6, 8, 19, 26]))
    assert generator._search._cache_size() == 2


@pytest.mark.parametrize("empty", [[EOS_ID], []])
def test_an_empty_source_has_the_empty_hypothesis(generator, hypotheses, empty):
    first, second, third = generator.generate([empty, SOURCES[0], empty])
    assert first == third == ([], 0.0, 0.0, True)
    assert same(second, hypotheses[0])


def test_no_sources_have_no_hypotheses(generator):
    assert generator.generate([]) == []


def test_a_source_that_is_too_long_is_refused_before_anything_is_translated(generator):
    told = []
    too_long = random_sources(7, [MAX_LENGTH + 1])
    with pytest.raises(SequenceTooLongError, match=r"a sequence of 32 tokens is longer than Model\.max_length = 31"):
        generator.generate([*SOURCES[:2], *too_long], told.append)
    assert told == []
    assert issubclass(SequenceTooLongError, ValueError)


def test_progress_counts_up_to_all(generator):
    told = []
    generator.generate([*SOURCES, [EOS_ID]], told.append)
    assert told == sorted(told)
    assert told[-1] == len(SOURCES) + 1
    assert len(told) > 2


def test_batches_hold_each_source_once_in_the_budget(generator):
    seen = []
    for indices, batch in generator._batches(SOURCES):
        rows, length = batch.shape
        assert rows == 8, "the budget is 8 rows of 16 positions and 3 beams; and at least 8"
        assert len(indices) <= rows
        for i, row in zip(indices, batch, strict=False):
            assert row[: len(SOURCES[i])].tolist() == SOURCES[i]
            assert set(row[len(SOURCES[i]) :].tolist()) <= {PAD_ID}
        seen += indices
        assert length in (16, MAX_LENGTH)
    assert sorted(seen) == list(range(len(SOURCES)))
    assert len(SOURCES[seen[0]]) > 16, "what might not fit in memory comes first"
