"""`averaging` scores what `evaluate` would, once, and leaves the run as it was."""

import json

import pytest
from tiny_commands import require_one_line, run_command, snapshot

WRITTEN = {"averaging.md", "averaging.png", "averaging.json"}


@pytest.mark.slow
@pytest.mark.usefixtures("quick_to_compile")
def test_it_agrees_with_evaluate_and_goes_on_where_it_was_stopped(copied):
    """The run averages two of its three checkpoints."""
    flags = f"--workdir={copied}", "--split=dev", "--spacings=1,2"
    before = snapshot(copied)
    first = run_command("averaging", *flags, "--counts=2,9")
    assert (first.code, first.err.strip()) == (0, "")
    kept = json.loads((copied / "averaging.json").read_text())["dev"]
    assert [entry["steps"] for entry in kept] == [[100, 150], [50, 150]]
    assert kept[0]["bleu"]["value"] != kept[1]["bleu"]["value"]
    after = snapshot(copied)
    assert {name: after.get(name) for name in before} == before
    assert after.keys() - before.keys() == WRITTEN
    again = run_command("averaging", *flags, "--counts=2")
    assert json.loads((copied / "averaging.json").read_text())["dev"] == kept
    assert again.out.decode().count("\n| 2 |") == 2
    shown = run_command("evaluate", f"--workdir={copied}", "--split=dev").out.decode()
    scores = json.loads((copied / "results.json").read_text())["dev"]
    assert scores["checkpoint_steps"] == [100, 150]
    assert kept[0]["bleu"] == scores["bleu"]
    assert kept[0]["paper_bleu"] == scores["paper_bleu"]
    theirs, ours = scores["bleu"]["value"], scores["paper_bleu"]["value"]
    assert f"BLEU, paper's protocol {ours:.2f} " in shown
    assert f": {ours - theirs:+.2f} from sacreBLEU's [the paper's protocol, not sacreBLEU: " in shown
    assert kept[0]["perplexity_per_piece"] == pytest.approx(scores["perplexity_per_piece"], rel=1e-5)


@pytest.mark.parametrize("counts", ["0", "two"])
def test_bad_counts(copied, counts):
    ended = run_command("averaging", f"--workdir={copied}", f"--counts={counts}")
    require_one_line(ended, f"--counts={counts}: must be whole numbers from 1 on, .*")


def test_too_few_checkpoints(copied):
    ended = run_command("averaging", f"--workdir={copied}", "--counts=4,9", "--spacings=3")
    require_one_line(ended, f"{copied} keeps 3 checkpoints: too few for any of these averages")
