"""Runs in folders made up here are compared as far as they are."""

import json

import pytest
from run_folders import LOG, MADE, without_last
from tiny_commands import run_command, snapshot

from experiments.comparison.run import read_run
from experiments.comparison.settings import different_settings
from experiments.gin_bindings import load_experiment, resolved


def compared(a, b, *flags) -> str:
    before = snapshot(a), snapshot(b)
    ended = run_command("compare", str(a), str(b), *flags)
    assert (ended.code, ended.err) == (0, "")
    assert (snapshot(a), snapshot(b)) == before
    return ended.out.decode()


def rows(printed: str) -> dict[str, list[str]]:
    lines = [line for line in printed.splitlines() if line.startswith("|")]
    return {name: rest for name, *rest in ([cell.strip() for cell in line[1:-1].split(" | ")] for line in lines)}


def test_identical_runs_are_said_to_be_identical_and_nothing_is_tested(pair):
    a, b = pair()
    printed = compared(a, b)
    assert f"All {len(resolved(load_experiment([a / 'config.gin'])))} settings are the same." in printed
    assert "Code, libraries and machine are the same." in printed
    assert "A and B are identical on this split: the same translations, the same scores. Nothing to test." in printed
    assert "approximate randomisation" not in printed
    assert "## sentences" not in printed
    assert "- batches: the same up to step 80\n- training losses: the same up to step 80\n" in printed


def test_equal_translations_with_another_perplexity_are_not_called_identical(pair):
    printed = compared(*pair(perplexity_per_piece=4.0))
    assert "A and B translate every sentence alike; what differs is perplexity per piece. Nothing to test." in printed
    assert rows(printed)["perplexity per piece"] == ["5.000", "4.000", "-1.000"]


def test_settings_that_differ_come_in_the_configs_order(pair):
    a, b = pair("Training.seed = 7", "Model.d_ff = 29", 'Data.dev = "dev.tsv"', "Decoding.beam_size = 3")
    read = [read_run(label, folder, "test") for label, folder in (("A", a), ("B", b))]
    found = different_settings(*read)
    assert [row.name for row in found] == ["Model.d_ff", "Data.dev", "Training.seed", "Decoding.beam_size"]
    assert found[1][1:] == ("('dev.en', 'dev.de')", "'dev.tsv'")
    assert rows(compared(a, b))["Training.seed"] == ["1", "7"]


def test_settings_given_to_evaluate_count_and_are_told(pair, compared_text):
    a, b = pair(settings=resolved(load_experiment([compared_text], ["Decoding.beam_size = 5"])))
    printed = compared(a, b)
    assert rows(printed)["Decoding.beam_size"] == ["2", "5"]
    assert "- B was scored with other settings than its config's: Decoding.beam_size = 5, not 2" in printed


def test_code_libraries_and_machine_are_compared(pair):
    other = {**MADE, "revision": None, "versions": {"jax": "0.2", "numpy": "2.0"}}
    printed = compared(*pair(made=other, machine="two"))
    assert rows(printed)["revision, training"] == ["abc", "not known"]
    assert rows(printed)["jax, training"] == ["0.1", "0.2"]
    assert rows(printed)["machine, scoring"] == ["one", "two"]
    assert "numpy" not in printed
    assert "jax, scoring" not in printed


def test_progress_by_hand(pair):
    later = [*LOG[:2], {**LOG[2], "loss": 2.5}, {**LOG[3], "perplexity": 9.0}]
    printed = compared(*pair("Training.num_steps = 200", log=later))
    found = rows(printed)
    assert found["updates"] == ["80 of 150", "80 of 200"]
    assert found["target tokens"] == ["680"] * 2  # 50 x 7 + 30 x 11
    assert found["minutes in updates"] == ["1.5", "1.5"]
    assert found["dev perplexity, last"] == ["13.000 at 80", "9.000 at 80"]
    assert found["dev perplexity, lowest"] == ["11.000 at 50", "9.000 at 80"]
    assert "- batches: the same up to step 80\n" in printed
    assert "- training losses: they first differ in the record of step 80\n" in printed


def test_stretches_of_other_lengths_are_not_compared(pair):
    """A run that was stopped logs a stretch in two parts."""
    parts = [{**LOG[0], "step": 20, "batches_crc32": 3}, {**LOG[0], "batches_crc32": 4}, *LOG[1:]]
    assert "- batches: the same up to step 80\n" in compared(*pair(log=parts))


def test_scores_side_by_side_then_lengths_and_sentences(pair):
    printed = compared(*pair(translate=without_last))
    found = rows(printed)
    assert found["BLEU"][0] == "100.00"
    assert float(found["BLEU"][2]) == pytest.approx(float(found["BLEU"][1]) - 100, abs=0.011)
    assert found["exact match, %"] == ["100.0", "0.0", "-100.0"]
    assert found["length, divided by the references'"] == ["1.000", f"{5 / 6:.3f}"]
    assert "`nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:" in printed
    assert "A is better than B by" in printed
    assert "11 of 11 are translated differently; the 10 that differ most in chrF2:" in printed
    assert printed.count("```text\nsource     the ") == 10
    titles = ["settings", "progress", "scores on test", "difference", "lengths", "sentences"]
    assert [line[3:] for line in printed.splitlines() if line.startswith("## ")] == titles


def test_a_run_that_is_not_scored_is_compared_as_far_as_it_is(pair):
    a, b = pair(scored=False, log=LOG[:1])
    printed, found = compared(a, b), rows(compared(a, b))
    assert f"- B has not been scored on test yet: python -m experiments.evaluate --workdir={b} --split=test" in printed
    assert found["updates"] == ["80 of 150", "50 of 150"]
    assert found["dev perplexity, last"] == ["13.000 at 80", "none logged"]
    assert found["BLEU"] == ["100.00", "", ""]
    assert found["length, divided by the references'"] == ["1.000"]
    assert "## difference" not in printed


def test_runs_that_have_only_begun(pair):
    a, b = pair(scored=False, log=[])
    (b / "launches.jsonl").unlink()
    (b / "vocabulary.model").unlink()
    printed = compared(b, b, "--split=dev")
    assert "- A has not logged an update yet" in printed
    assert "- B has not logged an update yet" in printed
    assert "## scores" not in printed
    assert "A has not been scored on dev yet" in compared(a, b, "--split=dev")


def test_a_run_whose_translations_are_gone(pair):
    a, b = pair()
    (b / "translations.test.txt").unlink()
    printed = compared(a, b)
    assert f"- B has no translations of test: python -m experiments.evaluate --workdir={b} --split=test" in printed
    assert rows(printed)["BLEU"] == ["100.00", "100.00", "+0.00"]


def test_a_run_that_was_scored_with_anothers_weights_has_no_log(pair):
    """It has scores and translations; what its weights took stands with them."""
    a, b = pair(
        "Decoding.beam_size = 3", log=[], made={}, training={"updates": 80, "target_tokens": 680, "seconds": 90}
    )
    assert not [path.name for path in b.iterdir() if path.suffix == ".jsonl"]
    printed = compared(a, b, f"--into={a.parent / 'pictures'}")
    found = rows(printed)
    assert [found[name] for name in ("updates", "target tokens", "minutes in updates")] == [
        ["80 of 150"] * 2, ["680"] * 2, ["1.5"] * 2,
    ]  # fmt: skip
    assert found["dev perplexity, last"] == ["13.000 at 80", "none logged"]
    assert "- B has no log: what it says of training is from its scores\n" in printed
    assert "has not" not in printed
    assert found["BLEU"] == ["100.00", "100.00", "+0.00"]
    assert "A and B are identical on this split" in printed


def test_a_run_that_failed_says_why(pair):
    a, b = pair(scored=False)
    (b / "failure.json").write_text(json.dumps({"error": "step 7: the loss is nan"}))
    assert "- B failed: step 7: the loss is nan" in compared(a, b)


def test_the_picture_has_both_runs_records(pair, tmp_path):
    a, b = pair(log=LOG[:2], scored=False)
    printed = compared(a, b, f"--into={tmp_path / 'new' / 'pictures'}")
    written = tmp_path / "new" / "pictures" / "compare.png"
    assert f"written: {written}" in printed
    assert written.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in written.parent.iterdir()] == ["compare.png"]
