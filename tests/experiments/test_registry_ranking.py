"""Like is ranked with like: seeds are one experiment, a seed counts once, and what cannot be compared is said."""

import dataclasses
import math
import re
from pathlib import Path

import jaxtyping
import pytest
from run_folders import change_entry, make_folder, make_run, names

from experiments.gin_bindings import load_experiment
from experiments.registry.ranking import incomparable, notes, ranking, ranking_table, winner_gin
from experiments.registry.records import RegistryError, read_runs


@pytest.fixture
def folder(tmp_path) -> Path:
    return make_folder(tmp_path)


def test_seeds_are_one_with_a_mean_and_an_interval(folder):
    best, other = ranking(read_runs([folder]), "bleu", "dev")
    assert names(best.records, folder) == ["wide/seed_2", "wide/seed_10"]
    # Of 22 and 20 the standard error is 1, and Student's t with one degree of freedom is 12.706.
    assert [round(value, 3) for value in (best.interval.mean, best.interval.low, best.interval.high)] == [
        21, 8.294, 33.706,
    ]  # fmt: skip
    assert (other.interval.mean, other.interval.low, names(other.unscored, folder)) == (20.5, None, ["narrow_again"])
    table = ranking_table([best, other], "bleu", "dev")
    assert table.columns == ["rank", "runs", "seeds", "bleu", "low", "high", "Model.d_ff"]
    assert [[*line[:4], line[-1]] for line in table.rows] == [
        [1, f"{folder}/wide/{{seed_2,seed_10}}", 2, 21.0, "64"], [2, f"{folder}/narrow", "1 of 2", 20.5, "23"],
    ]  # fmt: skip


def test_of_the_perplexity_and_the_loss_the_lowest_is_the_best(folder):
    make_run(folder / "wider", steps=[10], dev=[3.0, 2.0], d_ff=128)
    records = read_runs([folder])
    wide, narrow = (each.interval.mean for each in ranking(records, "perplexity_per_piece", "dev"))
    assert (wide, narrow) == (pytest.approx(math.sqrt(78 * 80)), pytest.approx(79.5))
    assert [each.interval.mean for each in ranking(records, "loss", "dev")] == [2.0, 2.25]


def test_parsers_are_ranked_by_the_f1_of_their_brackets(folder):
    """Runs that translate have none, which is no fault of theirs."""
    for name, f1 in (("narrow", 71.5), ("wide/seed_2", 70.0)):
        change_entry(folder / name, bracketing={"f1": f1, "parameters": name[:4]})
    records = read_runs([folder])
    ranked = ranking(records, "f1", "dev")
    assert [(names(each.records, folder), each.interval.mean) for each in ranked] == [
        (["narrow"], 71.5), (["wide/seed_2"], 70.0),
    ]  # fmt: skip
    assert ["bracketing.parameters is" in line for line in incomparable(ranked, "f1", "dev")] == [True]
    assert not [line for record in records for line in record.remarks("dev") if "f1" in line]


def test_perplexities_are_ranked_as_their_losses_are(tmp_path):
    """The mean of 2 and 32 is above 14, their geometric mean is 8; and the interval is that of the losses."""
    for name, perplexities, d_ff in (("uneven", (2.0, 32.0), 64), ("even", (14.0, 14.0), 23)):
        for seed, perplexity in enumerate(perplexities, 1):
            loss = math.log(perplexity)
            path = make_run(tmp_path / name / f"{seed}", steps=[10], dev=[loss], bleu=1.0, seed=seed, d_ff=d_ff)
            change_entry(path, perplexity_per_piece=perplexity)
    records = read_runs([tmp_path])
    by_perplexity, by_loss = (ranking(records, metric, "dev") for metric in ("perplexity_per_piece", "loss"))
    assert [each.records[0].path.parent.name for each in by_perplexity] == ["uneven", "even"]
    assert by_perplexity[0].interval.mean == pytest.approx(8)
    for one, other in zip(by_perplexity, by_loss, strict=True):
        assert one.records == other.records
        for end in ("mean", "low", "high"):
            assert getattr(one.interval, end) == pytest.approx(math.exp(getattr(other.interval, end)))
    assert "geometric means" in notes(by_perplexity, records, "perplexity_per_piece", "dev")[0]
    assert ": means" in notes(by_loss, records, "loss", "dev")[0]


def test_a_seed_counts_once(folder):
    make_run(folder / "wide" / "seed_2_copy", steps=[10], bleu=22.0, d_ff=64, seed=2, cache_directory="elsewhere")
    records = read_runs([folder])
    ranked = ranking(records, "bleu", "dev")
    assert names(ranked[0].records, folder) == ["wide/seed_2", "wide/seed_10"]
    assert notes(ranked, records, "bleu", "dev")[1:] == [
        f"Not counted, of a seed that is there already: {folder}/wide/seed_2_copy.",
        f"Not ranked, without bleu on dev: {folder}/new.",
    ]


def test_of_many_that_are_left_out_some_are_named_and_all_are_counted(folder):
    for number in range(1, 9):
        make_run(folder / f"wide_{number}", d_ff=100 + number)
    records = read_runs([folder])
    said = notes(ranking(records, "bleu", "dev"), records, "bleu", "dev")[-1]
    named = ", ".join(f"{folder}/{name}" for name in ("new", "wide_1", "wide_2", "wide_3", "wide_4"))
    assert said == f"Not ranked, without bleu on dev: {named} and 4 more."


def test_runs_that_were_scored_otherwise_are_another_experiment_but_for_the_loss(folder):
    make_run(folder / "greedy", dev=[2.0], bleu=30.0, seed=2, scored_with={"Decoding.beam_size": 1})
    records = read_runs([folder])
    assert [names(each.records, folder) for each in ranking(records, "bleu", "dev")] == [
        ["greedy"], ["wide/seed_2", "wide/seed_10"], ["narrow"],
    ]  # fmt: skip
    assert [names(each.records, folder) for each in ranking(records, "loss", "dev")] == [["narrow", "greedy"]]


def test_a_number_written_otherwise_is_the_same_setting(folder, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # an int for a float is the config's to accept
    make_run(folder / "zero", bleu=1.0, seed=1, dropout_rate=0)
    make_run(folder / "zero_again", bleu=2.0, seed=2, dropout_rate=0.0)
    assert names(ranking(read_runs([folder]), "bleu", "dev")[-1].records, folder) == ["zero", "zero_again"]


@pytest.mark.parametrize(
    ("metric", "change", "said"),
    [
        ("bleu", {"corpus_sha256": "c1"}, "corpus_sha256 is c0 in .*, c1 in .*/narrow"),
        (
            "bleu",
            {"bleu": {"value": 1.5, "signature": "tok:13a"}},
            r"bleu.signature is tok:none\|version:9 .* tok:13a in .*",
        ),
        ("bleu", {"vocabulary_sha256": "v1", "corpus_sha256": None}, ""),
        ("perplexity_per_piece", {"vocabulary_sha256": "v1"}, "vocabulary_sha256 is v0 in .*, v1 in .*/narrow"),
    ],
)
def test_scores_of_different_things_are_said_to_be_incomparable(folder, metric, change, said):
    records = read_runs([folder])
    assert incomparable(ranking(records, metric, "dev"), metric, "dev") == []
    change_entry(folder / "narrow", **change)
    records = read_runs([folder])
    ranked = ranking(records, metric, "dev")
    assert re.fullmatch(said, "; ".join(incomparable(ranked, metric, "dev")))
    warnings = [line for line in notes(ranked, records, metric, "dev") if line.startswith("WARNING: not comparable: ")]
    assert len(warnings) == bool(said)


def test_the_winners_config_is_what_it_was_scored_with(folder):
    scored_with = {"Decoding.beam_size": 1, "Data.train": ["a", "b"], "Data.cache_directory": "another machine's"}
    path = make_run(folder / "greedy", bleu=99.0, scored_with=scored_with)
    (folder / "best.gin").write_text(winner_gin(ranking(read_runs([folder]), "bleu", "dev"), "bleu", "dev"))
    own = load_experiment([path / "config.gin"])
    decoding = dataclasses.replace(own.decoding, beam_size=1)
    data = dataclasses.replace(own.data, train=("a", "b"))
    assert load_experiment([folder / "best.gin"]) == dataclasses.replace(own, decoding=decoding, data=data)


def test_a_winner_without_a_config_is_refused(folder):
    (folder / "narrow" / "config.gin").write_text("Model.d_ff = ")
    change_entry(folder / "narrow", bleu={"value": 99.0})
    ranked = ranking(read_runs([folder]), "bleu", "dev")
    assert names(ranked[0].records, folder) == ["narrow"]
    with pytest.raises(RegistryError, match=r"narrow: config\.gin, line 1: "):
        winner_gin(ranked, "bleu", "dev")


@pytest.mark.parametrize(
    ("metric", "split", "message"),
    [
        ("bleu", "test", "^none of 5 runs has bleu on test; scored is dev$"),
        ("loss", "test", "^--split=test: the loss is logged on the dev set alone$"),
    ],
)
def test_a_metric_that_no_run_has_is_refused(folder, metric, split, message):
    with pytest.raises(RegistryError, match=message):
        ranking(read_runs([folder]), metric, split)
