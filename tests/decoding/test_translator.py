"""A translation for each line, in order, whatever the line; problems are told and stop nothing."""

import pytest

from transformer_jax.data.vocabulary import learn_vocabulary
from transformer_jax.decoding.generate import Generator, Hypothesis
from transformer_jax.decoding.translator import Translator
from transformer_jax.special_ids import EOS_ID

TEXT = ["the small dog sees the house", "the house sees the small dog", "der kleine hund sieht das haus"]


class Mirror(Generator):
    """No model: a translation is its source in reverse, cut off where it has more than 9 tokens."""

    def __init__(self):
        self._max_length = 12
        self.sources = []

    def generate(self, sources, on_progress=lambda _: None):
        self.sources += sources
        on_progress(len(sources))
        return [Hypothesis(source[:-1][::-1][:9], -1.0, -2.0, len(source) <= 10) for source in sources]


@pytest.fixture(scope="module")
def vocabulary():
    return learn_vocabulary(TEXT, 41)


@pytest.fixture
def mirror():
    return Mirror()


def test_one_for_each_line_in_order(vocabulary, mirror):
    lines = ["dog", "", "house", "dog", "   "]
    found = Translator(mirror, vocabulary).translate(lines)
    expected = [vocabulary.decode(vocabulary.encode(line)[::-1]) for line in lines]
    assert [translation.text for translation in found] == expected
    assert expected[1] == expected[4] == ""
    assert [translation.problems for translation in found] == [[]] * 5
    assert [translation.hypothesis.ids for translation in found] == [vocabulary.encode(line)[::-1] for line in lines]


def test_sources_end_with_the_end_token(vocabulary, mirror):
    Translator(mirror, vocabulary).translate(["dog", ""])
    assert mirror.sources == [[*vocabulary.encode("dog"), EOS_ID], [EOS_ID]]


def words_of(vocabulary, count):
    """A line of so many tokens: pieces that mean themselves when they are read again."""
    piece = vocabulary.encode("dog")
    line = vocabulary.decode((piece * count)[:count])
    assert len(vocabulary.encode(line)) == count
    return line


@pytest.mark.parametrize("length", [9, 10, 11, 12, 17])
def test_a_line_is_cut_where_the_model_ends_and_that_is_told(vocabulary, mirror, length):
    line = words_of(vocabulary, length)
    before, found, after = Translator(mirror, vocabulary).translate(["dog", line, "house"])
    ids = vocabulary.encode(line)
    assert mirror.sources[1] == [*ids[:11], EOS_ID]
    cut = [f"has {length} tokens: only the first 11 were translated"] * (length > 11)
    cut_off = ["its translation was cut off at 9 tokens"] * (length > 9)
    assert found.problems == cut + cut_off
    assert before.problems == after.problems == []
    expected = [vocabulary.decode(vocabulary.encode(other)[::-1]) for other in ("dog", "house")]
    assert [before.text, after.text] == expected


def test_progress_is_passed_on(vocabulary, mirror):
    told = []
    Translator(mirror, vocabulary).translate(["dog", "house"], told.append)
    assert told == [2]
