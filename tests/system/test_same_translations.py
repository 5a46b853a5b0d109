"""A trained model's translations of a whole test set are the same on every way to them, and score what they say.

Needs `runs/multi30k_tiny`, as the README says to train it, and the data beside the checkout.
"""

import dataclasses
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import trained_run
from decoding.small_generator import use_devices

from transformer_jax.decoding.beam_search import beam_search
from transformer_jax.decoding.constraints import constrained, without
from transformer_jax.decoding.generate import Generator, Hypothesis
from transformer_jax.decoding.model_search import search_rules
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "runs" / "multi30k_tiny"
LINES = ROOT.parent / "shared" / "data" / "multi30k" / "tok" / "test_2016_flickr.lc.norm.tok.en.gz"
Found = list[list[Hypothesis]]


@pytest.fixture(autouse=True)
def _one_device(monkeypatch):
    use_devices(monkeypatch, 1)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    if not (RUN / "checkpoints").is_dir() or not LINES.is_file():
        pytest.skip("needs runs/multi30k_tiny and the shared data")
    return trained_run.shadow(RUN, tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def trained(run):
    return trained_run.load(run)


@pytest.fixture(scope="module")
def sources(trained) -> list[list[int]]:
    lines = gzip.decompress(LINES.read_bytes()).decode().split("\n")[:-1]
    assert len(lines) == 1000
    return [[*ids, EOS_ID] for ids in trained.vocabulary.encode_all(lines)]


def generator_of(trained, **decoding) -> Generator:
    return Generator(trained.model, trained.params, dataclasses.replace(trained.decoding, **decoding))


@pytest.fixture(scope="module")
def generator(trained) -> Generator:
    with pytest.MonkeyPatch.context() as patch:
        use_devices(patch, 1)
        return generator_of(trained)


@pytest.fixture(scope="module")
def expected(generator, sources) -> Found:
    with pytest.MonkeyPatch.context() as patch:
        use_devices(patch, 1)
        return generator.generate(sources)


def difference(ours: Found, theirs: Found) -> float:
    """The largest between scores, of the same hypotheses in the same order."""
    pairs = [pair for two in zip(ours, theirs, strict=True) for pair in zip(*two, strict=True)]
    assert [(own.ids, own.finished) for own, _ in pairs] == [(other.ids, other.finished) for _, other in pairs]
    return max(abs(own.score - other.score) for own, other in pairs)


def test_they_are_translations(expected, trained):
    """Of four beams each; nearly all of the best end."""
    assert {len(own) for own in expected} == {trained.decoding.beam_size} == {4}
    assert np.mean([own[0].finished for own in expected]) > 0.99
    assert len({tuple(own[0].ids) for own in expected}) > 900


def test_shuffled(generator, sources, expected):
    order = np.random.default_rng(1).permutation(len(sources))
    found = generator.generate([sources[i] for i in order])
    assert difference(found, [expected[i] for i in order]) < 1e-4


@pytest.mark.parametrize("tokens_per_batch", [1, 16 * 4 * 40, 16 * 4 * 1000])
def test_in_batches_of_other_sizes(tokens_per_batch, trained, generator, sources, expected):
    """Of eight rows, of forty, of which eight may be left, and of hundreds."""
    other = generator_of(trained, tokens_per_batch=tokens_per_batch)
    other._programs = generator._programs  # some shapes are compiled already
    assert difference(other.generate(sources), expected) < 1e-4


def test_alone(generator, sources, expected):
    assert difference([generator.generate([source])[0] for source in sources], expected) < 1e-4


def test_alone_where_the_search_stops_at_the_first_that_finishes(trained, sources):
    """In a batch it is not asked to go on, though the others do."""
    early = generator_of(trained, stop="first_finished")
    together = early.generate(sources)
    assert difference([early.generate([source])[0] for source in sources[:200]], together[:200]) < 1e-4


@pytest.mark.parametrize("devices", [1, 4])
def test_on_one_device_and_on_four(devices, run, sources, expected, tmp_path):
    paths = [tmp_path / "sources.json", tmp_path / "found.json"]
    paths[0].write_text(json.dumps(sources))
    env = os.environ | {
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
    }
    subprocess.run([sys.executable, trained_run.__file__, run, *paths], env=env, check=True)
    found = json.loads(paths[1].read_text())
    assert found["devices"] == devices
    hypotheses = [[Hypothesis(*fields) for fields in own] for own in found["hypotheses"]]
    assert difference(hypotheses, expected) < 1e-4


def test_without_a_cache(trained, sources, expected):
    """A step that reads each hypothesis anew from its first token: of forty sentences that 64 tokens are enough for."""
    chosen = [i for i, source in enumerate(sources) if len(source) <= 14][:40]
    beam, steps = trained.decoding.beam_size, 64

    @jax.jit
    def search(params, source, limits):
        encoded = jnp.repeat(source, beam, axis=0)

        def step(live, position, cache):
            target = live.ids.reshape(-1, steps)
            logits = trained.model.apply({"params": params}, encoded, target, deterministic=True)
            newest = jax.lax.dynamic_index_in_dim(logits, position, axis=1, keepdims=False)
            return jax.nn.log_softmax(newest).reshape(len(chosen), beam, -1), cache

        step = constrained(step, without(PAD_ID, BOS_ID))
        return beam_search(step, (), limits, search_rules(trained.decoding), max_steps=steps)

    batch, lengths = padded([sources[i] for i in chosen], 14), np.array([len(sources[i]) for i in chosen])
    found = search(trained.params, batch, lengths + trained.decoding.max_extra_length)
    ids, lengths, scores, finished = map(np.asarray, (found.ids, found.lengths, found.scores, found.finished))
    for row, i in enumerate(chosen):
        bodies = [ids[row, k, : lengths[row, k] - finished[row, k]].tolist() for k in range(beam)]
        assert bodies == [one.ids for one in expected[i]]
        np.testing.assert_allclose(scores[row], [one.score for one in expected[i]], atol=1e-4)


def padded(sequences: list[list[int]], length: int) -> np.ndarray:
    return np.array([ids + [PAD_ID] * (length - len(ids)) for ids in sequences], np.int32)


def forced_log_probs(trained, pairs: list[tuple[list[int], list[int]]]) -> np.ndarray:
    """Log P of each target given its source, by teacher forcing, 64 pairs at a time."""

    @jax.jit
    def forced(params, source, target):
        log_probs = jax.nn.log_softmax(trained.model.apply({"params": params}, source, target, deterministic=True))
        each = jnp.take_along_axis(log_probs, target[..., None], axis=-1)[..., 0]
        return jnp.where(target == PAD_ID, 0.0, each).sum(axis=1)

    order = sorted(range(len(pairs)), key=lambda i: max(map(len, pairs[i])))
    totals = np.zeros(len(pairs))
    for start in range(0, len(order), 64):
        rows = order[start : start + 64]
        length = -(-max(max(map(len, pairs[i])) for i in rows) // 16) * 16
        chosen = [pairs[i] for i in np.resize(rows, 64)]
        batch = [padded(list(side), length) for side in zip(*chosen, strict=True)]
        totals[rows] = np.asarray(forced(trained.params, *batch))[: len(rows)]
    return totals


def test_the_score_of_each_is_that_of_teacher_forcing(trained, sources, expected):
    """Of all four of each sentence, by another program than the search's."""
    alpha, offset = trained.decoding.length_penalty, trained.decoding.length_penalty_offset
    found = [(source, one) for source, own in zip(sources, expected, strict=True) for one in own]
    targets = [one.ids + [EOS_ID] * one.finished for _, one in found]
    totals = forced_log_probs(trained, [(source, target) for (source, _), target in zip(found, targets, strict=True)])
    penalties = np.array([((offset + len(target)) / (offset + 1)) ** alpha for target in targets])
    np.testing.assert_allclose([one.log_prob for _, one in found], totals, atol=1e-3, rtol=1e-5)
    np.testing.assert_allclose([one.score for _, one in found], totals / penalties, atol=1e-4)
