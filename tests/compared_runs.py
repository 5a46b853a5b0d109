"""Folders of runs as `train` and `evaluate` leave them, made up: nothing is trained."""

import dataclasses
import json
import shutil

from tiny_commands import write_corpus

from experiments.gin_bindings import load_experiment, resolved, to_gin
from transformer_jax.data.corpus import read_corpus
from transformer_jax.data.vocabulary import learn_vocabulary
from transformer_jax.metrics.bleu import corpus_bleu, corpus_chrf, exact_match

MADE = {"revision": "abc", "machine": "one", "devices": "1 x cpu", "versions": {"jax": "0.1", "numpy": "2.0"}}
LOG = [
    {"kind": "train", "step": 50, "loss": 3.0, "seconds": 60.0, "target_tokens_per_update": 7.0, "batches_crc32": 1},
    {"kind": "dev", "step": 50, "perplexity": 11.0},
    {"kind": "train", "step": 80, "loss": 2.0, "seconds": 30.0, "target_tokens_per_update": 11.0, "batches_crc32": 2},
    {"kind": "dev", "step": 80, "perplexity": 13.0},
]


def write_text(folder):
    """A tiny corpus, with its vocabulary beside it; its config is returned."""
    config = write_corpus(folder)
    lines = [
        *(config.parent / "train.en").read_text().split("\n"),
        *(config.parent / "train.de").read_text().split("\n"),
    ]
    learn_vocabulary(filter(None, lines), 71).save(config.parent / "vocabulary.model")
    return config


def references(config):
    return read_corpus("test.tsv", directory=str(config.parent), source_language="en", target_language="de")


def entry(experiment, corpus, translations, **changes):
    bleu = corpus_bleu(translations, corpus.targets, tokenizer=experiment.scoring.bleu_tokenizer)
    scores = {
        "perplexity_per_piece": 5.0, "bleu": dataclasses.asdict(bleu), "warnings": [], "checkpoint_steps": [80],
        "chrf": dataclasses.asdict(corpus_chrf(translations, corpus.targets)), "sentences": len(corpus),
        "exact_match_percent": exact_match(translations, corpus.targets), "cut_off_at_the_length_limit": 0,
        "corpus": corpus.name, "corpus_sha256": corpus.fingerprint, "settings": resolved(experiment),
    }  # fmt: skip
    return {**scores, **MADE, **changes}


def make_run(folder, config, *bindings, translate=lambda line: line, log=LOG, scored=True, made=MADE, **changes):
    """A run's folder as `train` and `evaluate` leave it, of a model that translates by changing the references."""
    experiment, corpus = load_experiment([config], bindings), references(config)
    folder.mkdir()
    (folder / "config.gin").write_text(to_gin(experiment))
    shutil.copy(config.parent / "vocabulary.model", folder)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in log))
    (folder / "launches.jsonl").write_text(json.dumps(made) + "\n")
    if scored:
        translations = [translate(line) for line in corpus.targets]
        (folder / "results.json").write_text(json.dumps({"test": entry(experiment, corpus, translations, **changes)}))
        (folder / "translations.test.txt").write_text("".join(f"{line}\n" for line in translations))
    return folder


def without_last(line):
    return line.rsplit(" ", 1)[0]
