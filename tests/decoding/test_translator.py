"""A translation for each line, in order, whatever the line; problems are told and stop nothing."""

import pytest

from transformer_jax.data.vocabulary import learn_vocabulary, vocabulary_from_bytes
from transformer_jax.decoding.generate import Generator, Hypothesis
from transformer_jax.decoding.translator import Translator
from transformer_jax.special_ids import EOS_ID

TEXT = ["the small dog sees the house", "the house sees the small dog", "der kleine hund sieht das haus"]


class Mirror(Generator):
    """No model: a translation is its prefix and its source in reverse, cut off where it has more than 9 tokens.

    The second best is half as long.
    """

    max_length = 12

    def __init__(self):
        self.sources, self.prefixes = [], []

    def generate(self, sources, on_progress=lambda _: None, *, prefixes=None, first=0, words=None):
        assert words is None
        self.first = first
        self.sources += sources
        self.prefixes += prefixes
        on_progress(len(sources))
        found = [[*prefix, *source[-2::-1]] for source, prefix in zip(sources, prefixes, strict=True)]
        return [
            [Hypothesis(ids[:9], -1.0, -2.0, len(ids) < 10), Hypothesis(ids[: len(ids) // 2], -3.0, -4.0, False)]
            for ids in found
        ]


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


def test_every_hypothesis_has_its_text_best_first(vocabulary, mirror):
    (found,) = Translator(mirror, vocabulary).translate(["the house"])
    ids = vocabulary.encode("the house")[::-1]
    shorter = ids[: len(ids) // 2]
    assert found.hypotheses == [Hypothesis(ids, -1.0, -2.0, True), Hypothesis(shorter, -3.0, -4.0, False)]
    assert found.texts == [vocabulary.decode(ids), vocabulary.decode(shorter)]
    assert (found.hypothesis, found.text) == (found.hypotheses[0], found.texts[0])
    assert found.problems == [], "of the best one alone"


def test_sources_end_with_the_end_token(vocabulary, mirror):
    found = Translator(mirror, vocabulary).translate(["dog", ""])
    assert mirror.sources == [[*vocabulary.encode("dog"), EOS_ID], [EOS_ID]]
    assert [translation.source for translation in found] == mirror.sources


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
    assert mirror.sources[1] == found.source == [*ids[:11], EOS_ID]
    cut = [f"has {length} tokens: only the first 11 were translated"] * (length > 11)
    cut_off = ["its translation was cut off at 9 tokens"] * (length > 9)
    assert found.problems == cut + cut_off
    assert before.problems == after.problems == []
    expected = [vocabulary.decode(vocabulary.encode(other)[::-1]) for other in ("dog", "house")]
    assert [before.text, after.text] == expected


def test_each_translation_begins_with_its_own_prefix(vocabulary, mirror):
    found = Translator(mirror, vocabulary).translate(["dog", "dog", "dog"], prefixes=["das haus", "", "hund"])
    prefixes = [vocabulary.encode(text) for text in ("das haus", "", "hund")]
    assert mirror.prefixes == prefixes
    assert [each.hypothesis.ids for each in found] == [[*ids, *vocabulary.encode("dog")[::-1]] for ids in prefixes]


def test_without_prefixes_nothing_is_forced(vocabulary, mirror):
    Translator(mirror, vocabulary).translate(["dog", "house"])
    assert mirror.prefixes == [[], []]


@pytest.mark.parametrize("length", [11, 12, 13])
def test_a_prefix_is_cut_where_the_model_ends_and_that_is_told(vocabulary, mirror, length):
    prefix = words_of(vocabulary, length)
    (found,) = Translator(mirror, vocabulary).translate(["dog"], prefixes=[prefix])
    assert mirror.prefixes == [vocabulary.encode(prefix)[:11]]
    told = [f"has a prefix of {length} tokens: only the first 11 were used"] * (length > 11)
    assert found.problems == [*told, "its translation was cut off at 9 tokens"]


def test_a_text_is_one_line_whatever_the_vocabulary_can_write(mirror):
    """tensor2tensor's can write any character."""
    subtokens = ["<pad>", "<EOS>", *"<>padEOS\\_u;0123456789", "\\10;", "\\13;", "\\8232;_"]
    vocabulary = vocabulary_from_bytes("".join(f"'{subtoken}'\n" for subtoken in subtokens).encode())
    assert vocabulary.decode(vocabulary.encode("\n\r\u2028")) == "\n\r\u2028"
    (found,) = Translator(mirror, vocabulary).translate([""], prefixes=["\n\r\u2028"])
    assert found.text == " \r\u2028"


def test_progress_is_passed_on(vocabulary, mirror):
    told = []
    Translator(mirror, vocabulary).translate(["dog", "house"], told.append)
    assert told == [2]


def test_the_number_of_the_first_line_is_passed_on(vocabulary, mirror):
    """What is sampled depends on it: a line is not to be told the same as the one a thousand lines before."""
    Translator(mirror, vocabulary).translate(["dog"], first=1000)
    assert mirror.first == 1000
