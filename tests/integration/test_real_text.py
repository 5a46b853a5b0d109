"""The configs on real text, from the files as they were published to batches; skipped where the text is not here."""

from pathlib import Path

import pytest

from experiments.checks import require_runnable
from experiments.gin_bindings import load_experiment
from experiments.rows import read_rows
from transformer_jax.data.corpus import Reading, read_pairs
from transformer_jax.data.prepared import prepare_data

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
pytestmark = [
    pytest.mark.skipif(not DATA.exists(), reason="the text is not here"),
    pytest.mark.usefixtures("unchecked_types"),
]


def experiment(name, directory, tmp_path):
    places = [f'Data.directory = "{directory}"', f'Data.cache_directory = "{tmp_path / "cache"}"']
    return load_experiment([ROOT / "gin_configs" / name], places)


def test_news_passes_from_raw_text_to_batches_and_every_pair_is_accounted_for(tmp_path):
    news = experiment("table2/en_de_small_news.gin", DATA, tmp_path)
    data = prepare_data(news.data, news.cleaning, news.trees)
    plan = require_runnable(news, data)
    assert data.report.read == 27_656 + 10_000
    assert data.report.kept == len(data.splits["train"]) == plan.num_pairs + plan.num_too_long + plan.num_empty
    assert data.report.removed["empty"] == 1  # the data set's own description names it
    assert [len(data.corpora[split]) for split in ("dev", "test")] == [3000, 3003]
    assert len(read_rows(news, 3003)) == 2737


def test_no_english_sentence_of_tatoeba_is_in_two_splits(tmp_path):
    (tmp_path / "deu-eng.zip").symlink_to(DATA / "tatoeba" / "deu-eng.2018-05-13.zip")
    tatoeba = experiment("tatoeba/en_de.gin", tmp_path, tmp_path)
    reading = Reading.of(tatoeba.data, tatoeba.trees)
    pairs = {split: list(read_pairs(getattr(tatoeba.data, split), reading)) for split in ("train", "dev", "test")}
    assert sum(map(len, pairs.values())) == 169_813
    sides = [{english for english, _ in split} for split in pairs.values()]
    assert sum(map(len, sides)) == len(set().union(*sides)) == 135_534
    assert all(len(split) > 1500 for split in pairs.values())


def test_multi30k_has_the_published_vocabulary(tmp_path):
    published = experiment("multi30k/tiny.gin", DATA / "multi30k" / "tok", tmp_path)
    data = prepare_data(published.data, published.cleaning, published.trees)
    assert data.vocabulary.size == 9708 + 4
    assert data.vocabulary.decode(data.splits["dev"].target(0)) == data.corpora["dev"].targets[0]
