"""What runs come to: read from their files, over the seeds that are finished, compared with base."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from experiments.ablation.rows import RowError, row_names, row_runs
from experiments.ablation.summary import summarise
from experiments.gin_bindings import resolved
from experiments.paper import TABLE_3
from experiments.run_list import RunList
from experiments.workdir import WorkdirError
from transformer_jax.checked import ConfigError
from transformer_jax.metrics.significance import Ratio, bleu

SCALE = str(Path(__file__).resolve().parents[2] / "gin_configs" / "scale" / "builtin_eighth.gin")
NAMES = ["base", "A_h_1", "E_learned_positions"]


def statistics(sentences: int, seed: int) -> np.ndarray:
    """BLEU statistics that are possible: no more matches than n-grams."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(4, 11, sentences)
    totals = np.maximum(lengths[:, None] - np.arange(4), 0)
    return np.column_stack([rng.binomial(totals, 0.6), totals, lengths, lengths])


class Listed:
    """A list of runs with two seeds, of which results are made up as a test needs them."""

    def __init__(self, root: Path):
        self.runs = RunList(row_runs(NAMES, 2, [SCALE], []), root, "dev")

    def finish(self, name: str, perplexity: float, seed: int, **changes) -> float:
        """Writes what a finished run leaves; returns its BLEU."""
        (run,) = [run for run in self.runs.runs if run.name == name]
        folder = self.runs.root / name
        folder.mkdir(parents=True)
        made_up = statistics(17, seed)
        score = float(bleu(made_up.sum(0)))
        entry = {
            "perplexity_per_piece": perplexity,
            "bleu": {"value": score, "signature": "nrefs:1"},
            "corpus": "builtin:dev", "sentences": 17, "corpus_sha256": "c", "vocabulary_sha256": "v",
            "training": {"target_tokens": 1000.0 * seed, "seconds": 60.0 * seed, "flops": 1e9 * seed},
            "seconds": 7.0,
            "settings": resolved(run.experiment),
            "command": "python -m experiments.table3 --seeds=2",
            "versions": {"jax": "1"}, "date": "2026-11-29T00:00:00", "machine": "a machine", "devices": "1 x cpu",
            "revision": "abc",
        }  # fmt: skip
        (folder / "results.json").write_text(json.dumps({"dev": entry | changes}))
        lines = [json.dumps({"bleu_statistics": row}) for row in made_up.tolist()]
        (folder / "translations.dev.jsonl").write_text("\n".join(lines) + "\n")
        return score


@pytest.fixture
def listed(tmp_path) -> Listed:
    return Listed(tmp_path)


def test_nothing_finished_is_no_table(listed):
    assert summarise(NAMES, 2, listed.runs) is None


def test_a_row_is_the_mean_of_its_finished_seeds(listed):
    scores = [listed.finish(f"base/seed_{seed}", 3.0 + seed, seed) for seed in (1, 2)]
    other = listed.finish("A_h_1/seed_2", 6.0, 3)
    base, one_head, learned = summarise(NAMES, 2, listed.runs).rows
    assert (base.seeds, base.unfinished) == ([1, 2], {})
    assert base.bleu.mean == pytest.approx(sum(scores) / 2)
    assert (base.perplexity.mean, base.perplexity.count) == (pytest.approx(math.sqrt(4 * 5)), 2)
    half_width = 12.7062 * math.log(5 / 4) / 2  # Student's t with one degree of freedom, of the loss
    assert base.perplexity.low == pytest.approx(math.sqrt(4 * 5) / math.exp(half_width), rel=1e-4)
    assert (base.target_tokens, base.seconds, base.flops) == (1500, 97, 1.5e9)
    assert (base.bleu_from_base, base.perplexity_ratio_to_base) == (None, None)
    assert (one_head.seeds, one_head.unfinished) == ([2], {1: "not run"})
    assert one_head.bleu_from_base.value == pytest.approx(other - sum(scores) / 2)
    assert one_head.bleu_from_base.seeds_counted is False
    assert one_head.perplexity_ratio_to_base == Ratio(one_head.perplexity_ratio_to_base.value, None, None, None, False)
    assert one_head.perplexity_ratio_to_base.value == pytest.approx(6 / math.sqrt(4 * 5))
    assert learned.seeds == []
    assert (learned.bleu, learned.perplexity, learned.bleu_from_base, learned.seconds) == (None,) * 4
    assert learned.perplexity_ratio_to_base is None


def test_a_seed_that_lags_makes_no_perplexity_impossible(listed):
    """Of 4 and 20 a mean of 12 would have an interval from below -89; and p is of the losses."""
    for seed, (row, base) in enumerate([(4.0, 3.0), (20.0, 3.5)], 1):
        listed.finish(f"A_h_1/seed_{seed}", row, seed)
        listed.finish(f"base/seed_{seed}", base, seed)
    _, row, _ = summarise(NAMES, 2, listed.runs).rows
    assert 0 < row.perplexity.low < row.perplexity.mean < row.perplexity.high
    welch = stats.ttest_ind(np.log([4.0, 20.0]), np.log([3.0, 3.5]), equal_var=False)
    assert row.perplexity_ratio_to_base.p_value == pytest.approx(welch.pvalue)
    assert 0 < row.perplexity_ratio_to_base.low < 1 < row.perplexity_ratio_to_base.high


def test_base_is_compared_with_whether_or_not_it_is_shown(listed):
    for seed in (1, 2):
        listed.finish(f"base/seed_{seed}", 3.0, seed)
        listed.finish(f"A_h_1/seed_{seed}", 3.0, seed)
    shown = summarise(["A_h_1"], 2, listed.runs)
    assert [row.name for row in shown.rows] == ["A_h_1"]
    assert shown.rows[0].bleu_from_base.value == 0
    assert shown.rows[0].bleu_from_base.seeds_counted is True


def test_sizes_are_the_scaled_models(listed):
    """A table of 1,000 pieces, and with learned positions two of 512, all 64 wide."""
    listed.finish("base/seed_1", 3.0, 1)
    base, one_head, learned = summarise(NAMES, 1, listed.runs).rows
    assert base.embedding_parameters == one_head.embedding_parameters == 64_000
    assert learned.embedding_parameters == 64_000 + 2 * 512 * 64
    assert base.parameters == one_head.parameters == learned.parameters - 2 * 512 * 64
    attention, feed_forward = 4 * 64 * 64, 2 * 64 * 256 + 256 + 64
    assert base.parameters == 64_000 + 6 * (3 * attention + 2 * feed_forward + 5 * 2 * 64)


def test_where_numbers_come_from_is_told_once_each(listed):
    listed.finish("base/seed_1", 3.0, 1)
    listed.finish("base/seed_2", 3.0, 2, date="2026-12-01T00:00:00", command="python -m experiments.table3 --seeds=1")
    listed.finish("A_h_1/seed_1", 3.0, 3, revision="def")
    summary = summarise(NAMES, 2, listed.runs)
    assert summary.command.split("\n") == [f"python -m experiments.table3 --seeds={seeds}" for seeds in (2, 1)]
    assert summary.corpus == "builtin:dev, 17 sentences, 1,000 pieces"
    assert summary.provenance == [
        "2026-11-29 to 2026-12-01: a machine, 1 x cpu; code abc, jax 1",
        "2026-11-29: a machine, 1 x cpu; code def, jax 1",
    ]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"corpus_sha256": "other"}, "corpus_sha256 differ"),
        ({"vocabulary_sha256": "other"}, "vocabulary_sha256 differ"),
        ({"bleu": {"value": 1.0, "signature": "nrefs:2"}}, "BLEU signatures differ"),
    ],
)
def test_what_was_scored_otherwise_is_not_compared(listed, change, what):
    listed.finish("base/seed_1", 3.0, 1)
    listed.finish("A_h_1/seed_1", 3.0, 2, **change)
    with pytest.raises(WorkdirError, match=rf"^A_h_1/seed_1 and base/seed_1 cannot be compared: their {what}$"):
        summarise(NAMES, 1, listed.runs)


def test_rows_are_named_in_the_tables_order():
    assert row_names("big, base,A_h_1,base") == ["base", "A_h_1", "big"]
    assert row_names("all") == row_names("all,base") == list(TABLE_3)
    with pytest.raises(RowError, match="A_h_3 is no row; rows are base, "):
        row_names("base,A_h_3")


def test_a_list_goes_seed_by_seed():
    runs = row_runs(["base", "big"], 2, [SCALE], ["Data.vocab_size = 999"])
    assert [run.name for run in runs] == ["base/seed_1", "big/seed_1", "base/seed_2", "big/seed_2"]
    experiment = runs[3].experiment
    assert (experiment.training.seed, experiment.model.d_model, experiment.data.vocab_size) == (2, 128, 999)


def test_an_error_in_a_config_names_the_row():
    with pytest.raises(ConfigError, match=r"^big: --gin_param=Model.d_fff = 1: Model.d_fff is no setting"):
        row_runs(["big"], 1, [SCALE], ["Model.d_fff = 1"])
