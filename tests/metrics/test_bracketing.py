"""EVALB's bracketing score: small trees by hand, and laws."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from transformer_jax.metrics.bracketing.layout import evalb_text
from transformer_jax.metrics.bracketing.parameters import STANDARD, BracketingParameters
from transformer_jax.metrics.bracketing.score import (
    BracketingError,
    Counts,
    SentenceScore,
    Status,
    bracketing_score,
    sentence_score,
)
from transformer_jax.trees.bracket_files import parse_trees
from transformer_jax.trees.tree import Tree

PLAIN = BracketingParameters()
RAIN = "(TOP (S (NP (NN rain)) (VP (VBZ falls) (ADVP (RB down)))))"


def trees(text: str) -> tuple[Tree, ...]:
    return tuple(parse_trees([text]))


def score(gold: str, test: str, parameters: BracketingParameters = PLAIN) -> SentenceScore:
    return sentence_score(trees(gold), trees(test), parameters)


def random_trees(seed: int, count: int) -> Iterator[Tree]:
    """Trees of up to nine words, which are numbered, so that trees of one length can be scored against each other."""
    generator = np.random.default_rng(seed)

    def tree(first: int, last: int, depth: int) -> Tree:
        if first == last and generator.random() < 0.6:
            return Tree(str(generator.choice(["N", "V", "."])), word=f"w{first}")
        cuts = [place for place in range(first, last) if generator.random() < 0.5 or depth > 3]
        bounds = zip([first, *(cut + 1 for cut in cuts)], [*cuts, last], strict=True)
        return Tree(str(generator.choice(["S", "NP", "VP"])), tuple(tree(*bound, depth + 1) for bound in bounds))

    for _ in range(count):
        yield tree(0, int(generator.integers(0, 9)), 0)


@pytest.mark.parametrize(("n", "m"), [(1, 3), (3, 1), (2, 2)])
def test_equal_brackets_over_equal_words_match_one_for_one(n, m):
    """EVALB's README, section 7, point 5."""
    gold, test = ("(NP " * count + "(DT the) (NN man)" + ")" * count for count in (n, m))
    counts = score(gold, test).counts
    assert (counts.recall, counts.precision) == (pytest.approx(100 * min(n, m) / n), pytest.approx(100 * min(n, m) / m))


def test_crossing_counts_brackets_of_the_test_side():
    gold = "(S (A (P a) (P b)) (B (P c) (P d)))"
    test = "(S (P a) (X (Y (P b) (P c))) (P d))"
    assert score(gold, test).counts.crossing == 2
    assert score(gold, "(S (P a) (Y (P b) (P c)) (P d))").counts.crossing == 1
    assert score(test, "(S (Y (P b)) (P a) (P c) (P d))").status is Status.ERROR
    assert score(gold, "(S (A (P a) (P b) (P c)) (P d))").counts.crossing == 1
    assert score(gold, "(S (X (X (P a)) (P b)) (P c) (P d))").counts.crossing == 0


def test_the_root_counts_unless_it_is_deleted():
    gold = test = "(S1 (S (NN rain)))"
    assert score(gold, test).counts.matched == 2
    assert score(gold, test, STANDARD).counts.matched == 1
    assert score("( (S (NN rain)))", "(S (NN rain))").counts == Counts(1, 2, 1, 0, 1, 1)


def test_functions_of_labels_do_not_count_but_those_of_tags_do():
    counts = score("(S-A (NP=2 (N-X a)))", "(S (NP-SBJ-1 (N-Y a)))").counts
    assert counts == Counts(2, 2, 2, 0, 1, 0)


def test_deletion_takes_words_by_their_tags_and_brackets_by_their_labels():
    deleting = replace(PLAIN, deleted=frozenset({",", "X"}))
    row = score("(S (X (P a) (, b)) (P c))", "(S (P a) (X (Q (, d))) (P c))", deleting)
    assert (row.length, row.counts) == (3, Counts(1, 1, 1, 0, 2, 2))
    assert score("(S (P a) (, b))", "(S (P a) (P b))", deleting).status is Status.ERROR
    assert score("(S (P a))", "(S (, a))", deleting).status is Status.SKIPPED


def test_equalities_hold_both_ways_and_not_over_a_third():
    equal = replace(PLAIN, equal_labels=frozenset({("A", "B"), ("B", "C")}), equal_words=frozenset({("a", "b")}))
    assert score("(A (A a))", "(B (B b))", equal).counts == Counts(1, 1, 1, 0, 1, 1)
    assert score("(B (B b))", "(A (A a))", equal).counts == Counts(1, 1, 1, 0, 1, 1)
    assert score("(A (A a))", "(C (C a))", equal).counts == Counts(0, 1, 1, 0, 1, 0)


def test_the_first_bracket_that_fits_is_taken():
    """The real program finds 1 match in the first pair, though 2 are possible, and 2 in the second."""
    equal = replace(PLAIN, equal_labels=frozenset({("A", "B"), ("B", "C")}))
    assert score("(B (A (P a)))", "(B (C (P a)))", equal).counts.matched == 1
    assert score("(B (A (P a)))", "(C (B (P a)))", equal).counts.matched == 2


def test_unlabeled_brackets_match_by_their_words():
    assert (
        score("(S (A (P a) (P b)) (P c))", "(T (B (P a) (P b)) (P c))", replace(PLAIN, labeled=False)).counts.f1 == 100
    )


@pytest.mark.parametrize(
    ("gold_tag", "test_tag", "word", "status"),
    [
        ("``", "NN", '"', Status.VALID),
        ("NN", "``", "'", Status.VALID),
        ("``", "NN", "/", Status.VALID),
        ("``", "NN", "x", Status.ERROR),
        ("``", "JJ", '"', Status.ERROR),  # no quote label
        (",", "NN", '"', Status.ERROR),
    ],
)
def test_a_quote_in_dispute_is_kept_on_both_sides(gold_tag, test_tag, word, status):
    row = score(f"(S (P a) (Q ({gold_tag} {word})))", f"(S (P a) (Q ({test_tag} {word})))", STANDARD)
    assert row.status is status
    assert row.counts == (Counts(2, 2, 2, 0, 2, 1) if status is Status.VALID else Counts())


def test_a_test_side_of_quotes_that_are_all_deleted_is_skipped_all_the_same():
    assert score("(S (NN /))", "(S (`` /))", STANDARD).status is Status.SKIPPED
    assert score("(S (`` /))", "(S (NN /))", STANDARD).status is Status.VALID


def test_one_error_more_than_allowed_is_counted_and_the_next_one_stops():
    gold, wrong = trees("(S (P a))"), trees("(S (P b))")
    tests = [gold, wrong, wrong, wrong, gold, wrong, gold]
    result = bracketing_score([gold] * 7, tests, replace(PLAIN, max_errors=2))
    assert result.stopped
    assert [row.status for row in result.rows] == [0, 1, 1, 1, 0]
    assert "Summary" not in evalb_text(result)
    assert not bracketing_score([gold] * 7, tests, replace(PLAIN, max_errors=3)).stopped


def test_unequal_numbers_of_sentences_are_an_error():
    with pytest.raises(BracketingError, match="2 gold sentences but 1 parsed"):
        bracketing_score([trees(RAIN)] * 2, [trees(RAIN)])


def test_laws_on_random_trees():
    groups: dict[int, list[Tree]] = {}
    for tree in random_trees(seed=5, count=300):
        groups.setdefault(len(tree.words()), []).append(tree)
    pairs = [pair for group in groups.values() for pair in zip(group[::2], group[1::2], strict=False)]
    assert len(pairs) > 100
    for gold, test in pairs:
        there, back, itself = (sentence_score((a,), (b,), PLAIN) for a, b in ((gold, test), (test, gold), (gold, gold)))
        assert there.counts.matched == back.counts.matched
        assert (there.counts.gold, there.counts.recall) == (back.counts.test, back.counts.precision)
        assert itself.counts.matched == itself.counts.gold == itself.counts.test
        assert itself.counts.crossing == 0
        assert itself.counts.tagging_accuracy == 100.0
    whole = bracketing_score([(gold,) for gold, _ in pairs], [(test,) for _, test in pairs], PLAIN)
    assert whole.all.counts.matched == sum(row.counts.matched for row in whole.rows) > 0
    assert 0 < whole.all.counts.f1 < 100
