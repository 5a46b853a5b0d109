"""Averages of a run's checkpoints: which are taken, what their mean is, what is kept and what is shown."""

import json
import re
import struct

import jax
import numpy as np
import pytest
from tiny_experiment import tiny_experiment
from train_states import files_of, save_three, state_at

from experiments.averages.chosen import Average, averages, positive_numbers
from experiments.averages.scores import FILE, Kept, Scorer, checkpoint_steps
from experiments.averages.table import markdown, write_picture
from experiments.workdir import WorkdirError
from transformer_jax.errors import UserError
from transformer_jax.training.checkpoint import Checkpoints

STEPS = [10, 20, 30, 40, 50]


@pytest.mark.parametrize(
    ("count", "spacing", "steps"),
    [
        (1, 1, [50]), (2, 1, [40, 50]), (5, 1, STEPS), (6, 1, []), (2, 2, [30, 50]), (3, 2, [10, 30, 50]), (4, 2, []),
        (2, 3, [20, 50]), (2, 4, [10, 50]), (2, 5, []), (1, 9, [50]),
    ],
)  # fmt: skip
def test_the_newest_and_back_from_there(count, spacing, steps):
    assert Average(count, spacing).of(STEPS) == steps


def test_one_checkpoint_has_no_spacing():
    assert averages([5, 1, 2], [2, 1]) == [Average(*each) for each in ((1, 1), (2, 1), (2, 2), (5, 1), (5, 2))]
    assert averages([1], [3]) == [Average(1, 1)]


@pytest.mark.parametrize("text", ["", "0", "1,,2", "-1", "1.5", "a", "1;2"])
def test_numbers_that_are_none(text):
    with pytest.raises(UserError, match=r"--counts=.*: must be whole numbers from 1 on"):
        positive_numbers("--counts", text)


def test_numbers():
    assert positive_numbers("--counts", "1, 2,10") == [1, 2, 10]


@pytest.mark.parametrize(("count", "spacing", "steps"), [(1, 1, [13]), (2, 2, [11, 13]), (3, 1, [11, 12, 13])])
def test_the_mean_is_of_these_steps_and_nothing_is_written_beside_them(tmp_path, count, spacing, steps):
    folder = save_three(tmp_path / "checkpoints")
    before = {path: path.read_bytes() for path in files_of(folder)}
    mean, found = Checkpoints(folder, keep=3).average(count, state_at(0).params, spacing=spacing)
    assert found == steps
    params = [state_at(step).params for step in steps]
    jax.tree.map(
        lambda ours, *each: np.testing.assert_allclose(ours, np.mean(each, axis=0, dtype=np.float64), rtol=1e-7),
        mean, *params,
    )  # fmt: skip
    assert {path: path.read_bytes() for path in files_of(folder)} == before


def test_a_run_without_checkpoints_is_named(tmp_path):
    with pytest.raises(WorkdirError, match="holds no checkpoint: train there first"):
        checkpoint_steps(tmp_path, tiny_experiment())
    save_three(tmp_path / "checkpoints")
    assert checkpoint_steps(tmp_path, tiny_experiment()) == [11, 12, 13]


def entry(value):
    bleu = {"value": value, "signature": "nrefs:1|tok:13a"}
    paper_bleu = {"value": value + 1, "signature": "in words"}
    return {"bleu": bleu, "paper_bleu": paper_bleu, "perplexity_per_piece": 1000.0 / value, "sentences": 7,
            "corpus": "a corpus"}  # fmt: skip


def kept_of(path, **changes):
    return Kept(path, tiny_experiment(**changes), STEPS)


def fill(path, *chosen, split="dev"):
    for average in chosen:
        scores = entry(20.0 + average.count + average.spacing / 4)
        kept_of(path).add(split, average, {"steps": average.of(STEPS), **scores})


def test_what_was_scored_is_there_again_in_order(tmp_path):
    fill(tmp_path, Average(5, 1), Average(1, 1), Average(2, 2))
    fill(tmp_path, Average(2, 1), split="test")
    kept = kept_of(tmp_path)
    assert list(kept.of("dev")) == [Average(1, 1), Average(2, 2), Average(5, 1)]
    assert kept.of("dev")[Average(2, 2)]["steps"] == [30, 50]
    assert kept.splits() == ["dev", "test"]
    assert kept.of("train") == {}


def test_scores_of_other_settings_or_checkpoints_are_not_seen_and_not_lost(tmp_path):
    fill(tmp_path, Average(1, 1), Average(2, 1))
    assert kept_of(tmp_path, beam_size=3).of("dev") == {}
    trained_on = Kept(tmp_path, tiny_experiment(), [*STEPS, 60])
    assert trained_on.of("dev") == {}
    trained_on.add("dev", Average(1, 1), {"steps": [60], **entry(30.0)})
    assert list(kept_of(tmp_path).of("dev")) == [Average(1, 1), Average(2, 1)]
    assert Kept(tmp_path, tiny_experiment(), [*STEPS, 60]).of("dev")[Average(1, 1)]["bleu"]["value"] == 30.0


@pytest.mark.parametrize("text", ["[", "[]", '{"dev": 3}', '{"dev": [{}]}', "7"])
def test_a_file_of_something_else_is_named_and_stays(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(WorkdirError, match=re.escape(f"{tmp_path / FILE} is no list of averages")):
        kept_of(tmp_path)
    assert (tmp_path / FILE).read_text() == text


def test_a_run_of_trees_has_no_averages_by_bleu(tmp_path):
    with pytest.raises(WorkdirError, match="is a run of trees"):
        Scorer(tmp_path, tiny_experiment(dev="trees:builtin:dev"), "dev")


def test_the_table_says_how_far_each_is_from_the_newest_alone(tmp_path):
    fill(tmp_path, Average(1, 1), Average(2, 1), Average(2, 2))
    text = markdown("a run", {"dev": kept_of(tmp_path).of("dev")}, [Average(9, 1)])
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if re.match(r"\| \d", line)]
    assert rows == [
        ["1", "1", "50", "21.25", "", "22.25", "47.059"],
        ["2", "1", "40 50", "22.25", "+1.00", "23.25", "44.944"],
        ["2", "2", "30 50", "22.50", "+1.25", "23.50", "44.444"],
        ["9", "1", "the run keeps too few", "", "", "", ""],
    ]
    for value in ("**dev**", "nrefs:1|tok:13a", "in words", "7 sentences of a corpus", "seed: 3", "command: "):
        assert value in text


def test_the_picture_has_a_row_of_panels_for_each_split(tmp_path):
    fill(tmp_path, Average(1, 1), Average(2, 1), Average(2, 2))
    fill(tmp_path, Average(2, 1), split="test")
    heights = []
    for splits in (["dev"], ["dev", "test"]):
        write_picture(tmp_path / "picture.png", "a $run", {split: kept_of(tmp_path).of(split) for split in splits})
        width, height = struct.unpack(">II", (tmp_path / "picture.png").read_bytes()[16:24])
        heights.append(height)
        assert width == 1430
    assert heights[1] > 1.7 * heights[0]
    assert json.loads((tmp_path / FILE).read_text()).keys() == {"dev", "test"}
