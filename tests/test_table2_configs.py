"""The four runs of Table 2 are the base and the big model on the two pairs of languages, and change nothing else."""

from pathlib import Path

import pytest

from experiments.gin_bindings import load_experiment, resolved

CONFIGS = Path(__file__).resolve().parents[1] / "gin_configs"
# Table 3's last row; section 6.1: the average of the last 20 checkpoints, of ten minutes at 1.0 s a step each.
BIG = {
    "Model.d_model": 1024,
    "Model.d_ff": 4096,
    "Model.num_heads": 16,
    "Model.dropout_rate": 0.3,
    "Training.num_steps": 300_000,
    "Training.checkpoint_every_steps": 600,
    "Decoding.average_checkpoints": 20,
}
# Section 5.1: WMT 2014 English-French and 32,000 word pieces.
FRENCH = {
    "Data.target_language": "fr",
    "Data.train": "tfds:wmt14_translate/fr-en:train",
    "Data.dev": "tfds:wmt14_translate/fr-en:validation",
    "Data.test": "tfds:wmt14_translate/fr-en:test",
    "Data.vocab_size": 32_000,
}
# Section 6.1: 0.1 instead of 0.3, which is the base model's value.
BIG_FRENCH = {name: value for name, value in (BIG | FRENCH).items() if name != "Model.dropout_rate"}


pytestmark = pytest.mark.usefixtures("unchecked_types")


@pytest.mark.parametrize(
    ("path", "changes"),
    [
        ("big.gin", BIG),
        ("table2/en_de_base.gin", {}),
        ("table2/en_de_big.gin", BIG),
        ("table2/en_fr_base.gin", FRENCH),
        ("table2/en_fr_big.gin", BIG_FRENCH),
    ],
)
def test_a_run_of_table_2_changes_just_this_of_the_base_model(path, changes):
    base, run = (resolved(load_experiment([CONFIGS / name])) for name in ("base.gin", path))
    assert {name: value for name, value in run.items() if value != base[name]} == changes


def test_big_checkpoints_are_as_many_as_are_averaged():
    """Else the average would be of fewer."""
    big = load_experiment([CONFIGS / "big.gin"])
    assert big.training.keep_checkpoints >= 20
    assert big.training.num_steps // big.training.checkpoint_every_steps >= 20
