"""What cannot be compared is refused with one line, and nothing is changed."""

import json
import shutil

import pytest
from run_folders import make_translated_run, without_last
from tiny_commands import require_one_line, run_command, snapshot


def test_another_corpus_is_refused(pair):
    a, b = pair(corpus_sha256="0" * 64)
    sha = json.loads((a / "results.json").read_text())["test"]["corpus_sha256"][:12]
    pattern = rf"the scores on test are of two test sets .*: A \S+/test\.tsv, SHA-256 {sha}; B .*, SHA-256 0{{12}}"
    require_one_line(run_command("compare", str(a), str(b)), pattern)


def test_another_bleu_is_refused(pair):
    pattern = r"the scores on test are of two kinds of BLEU .*: A \S+tok:13a\S+; B \S+tok:char\S+"
    require_one_line(run_command("compare", *map(str, pair('Scoring.bleu_tokenizer = "char"'))), pattern)


def write_results(folder):
    (folder / "results.json").write_text("[]")


def write_no_json(folder):
    (folder / "results.json").write_text("{")


def drop_a_score(folder):
    results = json.loads((folder / "results.json").read_text())
    del results["test"]["chrf"]
    (folder / "results.json").write_text(json.dumps(results))


def cut_a_translation(folder):
    lines = (folder / "translations.test.txt").read_text().splitlines(keepends=True)
    (folder / "translations.test.txt").write_text("".join(lines[1:]))


def change_a_translation(folder):
    lines = (folder / "translations.test.txt").read_text().splitlines(keepends=True)
    (folder / "translations.test.txt").write_text("".join(["nothing\n", *lines[1:]]))


def spoil_the_log(folder):
    (folder / "metrics.jsonl").write_text('{"kind": "train"}\n')


def drop_a_loss(folder):
    record = {"kind": "train", "step": 7, "loss": None, "seconds": 1.5, "target_tokens_per_update": 3.0}
    (folder / "metrics.jsonl").write_text(json.dumps(record) + "\n")


def spoil_a_launch(folder):
    (folder / "launches.jsonl").write_text("[]\n{}\n")


def spoil_the_config(folder):
    (folder / "config.gin").write_text("Model.d_fff = 3\n")


def remove_the_config(folder):
    (folder / "config.gin").unlink()


SPOILT = {
    "not a run": (remove_the_config, r"\S+/b holds no run \(it has no config\.gin\)"),
    "a list for results": (write_results, r"\S+/b/results\.json is not a JSON object"),
    "results cut short": (write_no_json, r"\S+/b/results\.json is not a JSON object"),
    "a score is lacking": (drop_a_score, r"\S+/b/results\.json lacks chrf of test: evaluate the run again"),
    "a translation is lacking": (cut_a_translation, r"\S+/translations\.test\.txt has 10 lines for 11 sentences: .*"),
    "another translation": (change_a_translation, r"\S+/b: the translations of test are not those that .* scores: .*"),
    "not a log": (spoil_the_log, r"\S+/b/metrics\.jsonl: 1 of 1 lines cannot be read"),
    "no loss": (drop_a_loss, r"\S+/b/metrics\.jsonl is not a run's log: a record lacks what all have"),
    "not a launch": (spoil_a_launch, r"\S+/b/launches\.jsonl: 1 of 2 lines cannot be read"),
    "no setting": (spoil_the_config, r"\S+/b/config\.gin, line 1: Model\.d_fff is no setting.*"),
}


@pytest.mark.parametrize("case", SPOILT)
def test_a_spoilt_run_is_refused_with_one_line(pair, case):
    spoil, pattern = SPOILT[case]
    a, b = pair(translate=without_last)
    spoil(b)
    before = snapshot(b)
    require_one_line(run_command("compare", str(a), str(b)), pattern)
    assert snapshot(b) == before


def test_text_that_has_changed_since_is_refused(compared_text, tmp_path):
    shutil.copytree(compared_text.parent, tmp_path / "text")
    config = tmp_path / "text" / "tiny.gin"
    config.write_text(config.read_text().replace(str(compared_text.parent), str(tmp_path / "text")))
    a, b = (
        make_translated_run(tmp_path / name, config, translate=how) for name, how in (("a", str), ("b", without_last))
    )
    with (tmp_path / "text" / "test.tsv").open("a") as file:
        file.write("one more\teine mehr\n")
    pattern = r"\S+/test\.tsv has changed since A \(\S+/a\) was scored: evaluate it again"
    require_one_line(run_command("compare", str(a), str(b)), pattern)


def test_bad_flags(pair, tmp_path):
    a, b = map(str, pair())
    for flags, pattern in (
        ([a, b, "--split=tset"], r"--split=tset: must be one of train, dev, test"),
        ([a, str(tmp_path / "none")], r"\S+/none holds no run .*"),
        ([a], r"the following arguments are required: B .*"),
        ([a, b, f"--into={b}/pictures"], r"--into=\S+/b/pictures lies in the run \S+/b, where .*"),
    ):
        ended = run_command("compare", *flags)
        require_one_line(ended, pattern)
        assert ended.code == (2 if "required" in pattern else 1)
    assert not (tmp_path / "b" / "pictures").exists()
