"""What each stop rule promises, and by a counter-example what it does not."""

import dataclasses
import math

import numpy as np
import pytest
from decoding.toy_search import EOS, Ranked, as_lists, assert_same, enumerated, found_in, random_tables, rules

from transformer_jax.decoding.beam_search import Rules

pytestmark = pytest.mark.usefixtures("quick_to_compile")
STOPS = ["bound", "beam_finished", "first_finished"]


def tree(probabilities: dict[tuple[int, ...], list[float]], *, length: int, vocab: int = 3) -> np.ndarray:
    """The table of a toy [1, position, prefix, vocab] from the next token's probabilities after each prefix."""
    table = np.full((1, length, vocab ** (length - 1), vocab), -np.inf, np.float32)
    for prefix, row in probabilities.items():
        with np.errstate(divide="ignore"):
            table[0, len(prefix), sum(token * vocab**i for i, token in enumerate(prefix))] = np.log(row)
    return table


def found(table: np.ndarray, kept: Rules) -> Ranked:
    length = table.shape[1]
    ours = as_lists(found_in(table, np.full(1, length), kept))[0]
    if kept.stop == "bound":
        assert_same(ours, enumerated(table[0], length, kept)[: kept.beam_size])
    return ours


def probabilities_of(hypotheses: Ranked) -> dict[tuple[int, ...], float]:
    return {ids: round(math.exp(log_prob), 6) for ids, _, log_prob, _ in hypotheses}


# Log P over length: "end" log 0.4, "0 end" (log 0.35) / 2, "0 2 0 end" (log 0.25) / 4; the last is the best.
LATE = tree({(): [0.6, 0.4, 0], (0,): [0, 7 / 12, 5 / 12], (0, 2): [1, 0, 0], (0, 2, 0): [0, 1, 0]}, length=4)


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        ("bound", {(0, 2, 0, EOS): 0.25, (0, EOS): 0.35}),
        ("beam_finished", {(0, EOS): 0.35, (EOS,): 0.4}),
        ("first_finished", {(EOS,): 0.4}),
    ],
)
def test_only_the_bound_waits_for_a_late_winner(stop, expected):
    """It is alive all the time, in a beam that holds all there is. The order is that of the scores."""
    by_length = rules(beam_size=2, alpha=1.0, offset=0.0, stop=stop)
    assert list(probabilities_of(found(LATE, by_length)).items()) == list(expected.items())


# After two tokens four live hypotheses are each more probable than any that has ended, and fall apart at the third.
CROWD = tree(
    {(): [0.5, 0.05, 0.45], (0,): [0.41, 0.2, 0.39], (2,): [0.41, 0.2, 0.39]}
    | {(a, b): [0.33, 0.34, 0.33] for a in (0, 2) for b in (0, 2)},
    length=3,
)


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        ("bound", {(0, EOS): 0.1, (2, EOS): 0.09, (0, 0, EOS): 0.0697, (0, 2, EOS): 0.0663}),
        ("beam_finished", {(0, 0, EOS): 0.0697, (0, 2, EOS): 0.0663, (EOS,): 0.05}),
        ("first_finished", {(EOS,): 0.05}),
    ],
)
def test_only_the_bound_counts_an_end_that_the_beam_has_no_place_for(stop, expected):
    """Every live hypothesis has a place; nothing is normalised, so that nothing could become better."""
    hypotheses = found(CROWD, rules(beam_size=4, alpha=0.0, stop=stop))
    finished = [hypothesis for hypothesis in hypotheses if hypothesis[3]]
    assert list(probabilities_of(finished).items()) == list(expected.items())


def test_a_beam_with_a_place_for_every_continuation_makes_that_of_all_finished_exact():
    """More hypotheses than there are never finish, and every end is among the best: 32 live ones, 3 tokens."""
    all_finished = rules(beam_size=97, stop="beam_finished")
    tables = random_tables(7, batch=7, vocab=3, length=6)
    for table, ours in zip(tables, as_lists(found_in(tables, np.full(7, 6), all_finished)), strict=True):
        assert_same(ours, enumerated(table, 6, all_finished)[:97])


@pytest.mark.parametrize("stop", STOPS)
def test_an_end_that_is_certain_ends_every_search(stop):
    """Nothing is left alive: slots stay empty."""
    certain = tree({(): [0.25, 0, 0.75], (0,): [0, 1, 0], (2,): [0, 1, 0]}, length=4)
    expected = {(2, EOS): 0.75, (0, EOS): 0.25}
    assert probabilities_of(found(certain, rules(beam_size=4, stop=stop))) == expected


def test_the_bound_finds_no_worse_than_the_others():
    """By score of the best, among random toys; strictly better somewhere."""
    tables = random_tables(5, batch=101, vocab=5, length=5)
    scores = {}
    for stop in STOPS:
        kept = dataclasses.replace(rules(), stop=stop)
        result = found_in(tables, np.full(101, 5), kept)
        scores[stop] = np.where(result.finished[:, 0], result.scores[:, 0], -np.inf)
    assert (scores["bound"] >= scores["beam_finished"]).all()
    assert (scores["beam_finished"] >= scores["first_finished"]).all()
    assert (scores["beam_finished"] > scores["first_finished"]).any()
