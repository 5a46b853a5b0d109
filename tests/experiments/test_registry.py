"""The registry says what the folders of runs hold, whatever state they are in."""

import re
from pathlib import Path

import pytest
from run_folders import change_entry, make_folder, make_run, names
from tiny_commands import snapshot
from tiny_experiment import tiny_experiment

from experiments.registry.ranking import ranking
from experiments.registry.records import RegistryError, read_run, read_runs
from experiments.registry.tables import listing, page, row
from transformer_jax.analysis.cost import training_flops


@pytest.fixture
def folder(tmp_path) -> Path:
    return make_folder(tmp_path)


def test_runs_are_found_at_any_depth_each_once_and_nothing_within_a_run(folder):
    make_run(folder / "narrow" / "inner")
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "link").symlink_to(folder / "wide")
    (folder / "wide" / "circle").symlink_to(folder)
    expected = ["elsewhere/link/seed_2", "elsewhere/link/seed_10", "narrow", "narrow_again", "new"]
    assert names(read_runs([folder, folder / "new", folder / "wide"]), folder) == expected
    assert names(read_runs([folder / "narrow"]), folder) == ["narrow"]


def test_reading_changes_nothing(folder):
    before = snapshot(folder)
    page(read_runs([folder])[0])
    assert snapshot(folder) == before


def test_how_far_a_run_is(folder):
    make_run(folder / "patient", steps=[4], dev=[3.0, 2.0, 2.0, 2.1], patience=2)
    make_run(folder / "failed", steps=[4])
    (folder / "failed" / "failure.json").write_text('{"error": "step 5: the loss is nan"}')
    records = {record.path.name: record for record in read_runs([folder])}
    states = {name: record.state("dev") for name, record in records.items()}
    assert states == {
        "seed_2": "scored", "seed_10": "scored", "narrow": "scored", "narrow_again": "at step 4 of 10",
        "new": "not begun", "patient": "trained", "failed": "failed",
    }  # fmt: skip
    assert records["failed"].remarks("dev") == ["step 5: the loss is nan"]
    assert records["narrow"].state("test") == "trained"
    assert records["narrow"].remarks("test") == ["scored on dev"]


def test_what_training_took_is_summed_over_the_log(folder):
    values = row(read_run(folder / "narrow"), "dev")
    assert (values["updates"], values["seconds"], values["target_tokens"]) == (10, 3600.0, 10 * 21.0)
    # 30 pairs in all, of 5 source and 7 target tokens each
    assert values["flops"] == 30 * training_flops(tiny_experiment().model, 37, source=5, target=7)
    assert (values["revision"], values["date"][:10], values["loss"]) == ("abc", "2026-01-02", 2.25)


def test_what_old_files_lack_is_blank(folder):
    path = folder / "narrow"
    (path / "metrics.jsonl").write_text('{"kind": "train", "step": 10, "seconds": 5}\n')
    (path / "results.json").write_text('{"dev": {"bleu": {"value": 3.5}, "settings": {"Decoding.beam_size": 2}}}')
    values = row(read_run(path), "dev")
    assert (values["updates"], values["seconds"], values["bleu"]) == (10, 5, 3.5)
    assert [values[name] for name in ("target_tokens", "flops", "chrf")] == [None] * 3
    assert values["Model.d_ff"] == 23
    assert len(ranking(read_runs([path]), "bleu", "dev")) == 1


def test_without_a_log_the_scores_say_what_training_took(folder):
    (folder / "narrow" / "metrics.jsonl").unlink()
    assert read_run(folder / "narrow").totals == {"updates": 10}


def test_a_run_that_was_scored_with_anothers_weights_is_a_run_like_others(folder):
    """Its folder has neither a log nor launches: what its weights took stands with its scores."""
    path = make_run(folder / "greedy", bleu=30.0, beam_size=1)
    change_entry(path, training={"updates": 10, "seconds": 3600.0}, revision="def", date="2026-02-03T04:05:06+00:00")
    record = read_run(path)
    assert sorted(path.name for path in path.iterdir()) == ["config.gin", "results.json"]
    assert (record.state("dev"), record.state("test"), record.remarks("dev")) == ("scored", "trained", [])
    values = row(record, "dev")
    assert [values[name] for name in ("updates", "seconds", "bleu", "revision")] == [10, 3600.0, 30.0, "def"]
    assert page(record).startswith(f"{path}: trained, scored on dev\n")
    assert names(ranking(read_runs([folder]), "bleu", "dev")[0].records, folder) == ["greedy"]


def test_scores_of_other_settings_or_steps_are_remarked(folder):
    scored_with = {"Decoding.beam_size": 1, "Data.train": ["a", "b"]}
    path = make_run(folder / "other", steps=[4, 10], bleu=20.0, scored_with=scored_with)
    change_entry(path, training={"updates": 8}, perplexity_per_piece=float("inf"))
    record = read_run(path)
    assert record.remarks("dev") == [
        "no perplexity_per_piece can be read",
        "scored with Data.train = ('a', 'b'), Decoding.beam_size = 1",
        "scored at step 8, trained to 10",
    ]
    assert (record.settings("dev")["Decoding.beam_size"], record.settings()["Decoding.beam_size"]) == (1, 2)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("config.gin", b"", "config.gin: not set by any file or binding: Model.num_layers, .*"),
        ("config.gin", b"Model.d_fff = 3", "config.gin, line 1: Model.d_fff is no setting.*"),
        ("config.gin", b"\xff", "config.gin: not UTF-8"),
        ("metrics.jsonl", b"\xff", "metrics.jsonl: not UTF-8"),
        ("metrics.jsonl", b'3\n{"kind": "dev"}\n{"kind": "train", "step": 7}\n', "metrics.jsonl: 2 of 3 lines .*"),
        ("metrics.jsonl", b'{"kind": "dev", "step": "x"}\n', "metrics.jsonl: 1 of 1 lines cannot be read"),
        ("metrics.jsonl", b'{"kind": "dev", "step": 7}\n{"kin', None),
        ("metrics.jsonl", b'{"kind": "train", "step": 7, "seconds": "x", "pairs_per_update": []}\n', None),
        ("launches.jsonl", b"{]\n{}\n[]", "launches.jsonl: 2 of 3 lines cannot be read"),
        ("launches.jsonl", b'{"revision": [1], "date": 3, "versions": {"jax": [{}]}}\n', None),
        ("results.json", b"", "results.json is not a JSON object"),
        ("results.json", b"[]", "results.json is not a JSON object"),
        ("results.json", b'{"dev": 3}', "results.json: dev is not a split's scores"),
        ("results.json", b'{"dev": {}}', "no bleu, chrf, exact_match_percent, perplexity_per_piece can be read"),
        ("results.json", b'{"dev": {"bracketing": {}}}', "no bleu, .*, f1, perplexity_per_piece can be read"),
        ("results.json", b'{"dev": {"settings": [], "bleu": {"value": "high"}}}', "no bleu, .*"),
        ("results.json", b'{"dev": {"settings": {"Model.d_ff": {"a": [[]]}}}}', "no bleu, .*; scored with .*"),
        ("failure.json", b"{", "failure.json is not a JSON object"),
    ],
)
def test_a_damaged_file_is_said_and_its_run_is_still_there(folder, file, text, said):
    (folder / "narrow" / file).write_bytes(text)
    records = read_runs([folder])
    assert names(records, folder) == ["narrow", "narrow_again", "new", "wide/seed_2", "wide/seed_10"]
    assert re.fullmatch(said or "", "; ".join(records[0].remarks("dev")))
    assert all(not record.problems for record in records[1:])
    assert str(folder / "narrow") in listing(records, "dev", sort=None, columns=None).text("table")
    assert str(folder / "narrow") in page(records[0])
    assert names(ranking(records, "bleu", "dev")[0].records, folder) == ["wide/seed_2", "wide/seed_10"]


def test_a_folder_where_a_file_should_be_is_said(folder):
    (folder / "new" / "results.json").mkdir()
    assert read_run(folder / "new").problems == ("results.json: Is a directory",)


@pytest.mark.parametrize(("name", "message"), [("empty", "empty holds no run"), ("nothing", "nothing is no folder")])
def test_folders_without_runs_are_refused(tmp_path, name, message):
    (tmp_path / "empty").mkdir()
    with pytest.raises(RegistryError, match=message):
        read_runs([tmp_path / name])
    with pytest.raises(RegistryError, match="holds no run"):
        read_run(tmp_path / name)
