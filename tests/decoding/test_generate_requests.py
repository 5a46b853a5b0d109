"""What may be asked for: nothing, too much, prefixes, other lengths; and models that are broken."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from decoding.small_generator import (
    MAX_LENGTH,
    SHORT,
    SOURCES,
    assert_same,
    assert_scored,
    generator,
    like_it,
    limit,
    params,
    random_sources,
    translations,
)

from transformer_jax.decoding.generate import Hypothesis
from transformer_jax.model.embedding import SequenceTooLongError
from transformer_jax.special_ids import BOS_ID, EOS_ID

pytestmark = pytest.mark.usefixtures("quick_to_compile", "one_device")
NOTHING = Hypothesis([], -np.inf, -np.inf, False)


@pytest.mark.parametrize("empty", [[EOS_ID], []])
def test_an_empty_source_has_the_empty_hypothesis(empty):
    first, *second, third = generator().generate([empty, SOURCES[0], empty])
    assert first == third == [([], 0.0, 0.0, True)]
    assert_same(second, translations()[:1])


def test_no_sources_have_no_hypotheses():
    assert generator().generate([]) == []


def test_a_source_that_is_too_long_is_refused_before_anything_is_translated():
    told = []
    too_long = random_sources(7, [MAX_LENGTH + 1])
    with pytest.raises(SequenceTooLongError, match=r"a sequence of 32 tokens is longer than Model\.max_length = 31"):
        generator().generate([*SOURCES[:2], *too_long], told.append)
    assert told == []
    assert issubclass(SequenceTooLongError, ValueError)


def test_so_is_a_prefix():
    with pytest.raises(SequenceTooLongError, match="32 tokens"):
        generator().generate(SOURCES[:1], prefixes=[[5] * 32])


def test_progress_counts_up_to_all():
    told = []
    generator().generate([*SOURCES, [EOS_ID]], told.append)
    assert told == sorted(told)
    assert told[-1] == len(SOURCES) + 1
    assert len(told) > 2


@pytest.mark.parametrize(("ratio", "extra", "expected"), [(0.0, 3, [3, 3, 3, 3]), (1.5, 0, [3, 4, 7, 13])])
def test_other_limits(ratio, extra, expected):
    """Of sources of 2, 3, 5 and 9 tokens."""
    sources = [next(source for source in SHORT if len(source) == length) for length in (2, 3, 5, 9)]
    lengths = [
        {len(found.ids) for found in own if not found.finished}
        for own in like_it(max_length_ratio=ratio, max_extra_length=extra).generate(sources)
    ]
    assert all(own <= {most} for own, most in zip(lengths, expected, strict=True))
    assert sum(map(len, lengths)) > 2


def test_no_translation_is_shorter_than_asked_for():
    least = [int(np.ceil(len(source) * 1.2)) for source in SHORT]
    found = like_it(min_length_ratio=1.2).generate(SHORT)
    for source, fewest, own in zip(SHORT, least, found, strict=True):
        assert all(fewest <= len(one.ids) <= limit(source) for one in own)
        assert_scored(source, own[0])
    assert any(len(one.ids) == fewest and one.finished for fewest, own in zip(least, found, strict=True) for one in own)
    before = like_it().generate(SHORT)
    assert any(len(one.ids) < fewest for fewest, own in zip(least, before, strict=True) for one in own)


PREFIXES = [[5, 6, 7], [], [8], [9] * 14, [11, 4], [7, 7, 7, 7], [4], [28, 28]]


def test_hypotheses_begin_with_their_prefix():
    """Scored as a whole. Where a prefix is longer than the limit allows, there is room for one token more."""
    sources = (SHORT * 2)[: len(PREFIXES)]
    found = like_it().generate(sources, prefixes=PREFIXES)
    for source, prefix, own in zip(sources, PREFIXES, found, strict=True):
        assert len(own) == 3
        for one in own:
            assert one.ids[: len(prefix)] == prefix
            assert_scored(source, one)
            most = max(limit(source), len(prefix) + 1)
            assert len(one.ids) + one.finished <= most
            assert one.finished or len(one.ids) == most
    assert limit(sources[3]) < 14
    assert_same(found[1:2], like_it().generate(sources[1:2]))


def test_a_prefix_that_cannot_be_said_leaves_the_empty_hypothesis():
    """It is cut off, and worse than any; the sentence beside it does not notice."""
    first, *second = generator().generate(SHORT[:2], prefixes=[[BOS_ID], []])
    assert first == [NOTHING]
    assert_same(second, translations()[SOURCES.index(SHORT[1]) :][:1])


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_a_broken_model_says_nothing(broken):
    values = jax.tree.map(lambda leaf: jnp.full_like(leaf, broken), params())
    assert like_it(values).generate(SHORT) == [[NOTHING]] * len(SHORT)
