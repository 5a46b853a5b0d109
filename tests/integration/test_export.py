"""`export`: what it writes translates as the run does, in programs that know nothing of this package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import ctranslate2
import jax
import numpy as np
import pytest
from tiny_commands import require_one_line, run_command, sentence_pairs, snapshot
from train_states import assert_equal

from experiments.weights import read_weights
from experiments.workdir import read_experiment, read_vocabulary
from transformer_jax.data.vocabulary import load_vocabulary
from transformer_jax.decoding.model_search import make_search
from transformer_jax.export.safetensors_file import load_safetensors
from transformer_jax.model.transformer import Transformer
from transformer_jax.special_ids import EOS_ID

LINES = [english for english, _ in sentence_pairs(7, 5)]
# Those of CTranslate2.
SETTINGS = ("length_penalty_offset = 0.0", 'stop = "beam_finished"', "max_extra_length = 30")
PARAMS = [f"--gin_param=Decoding.{setting}" for setting in SETTINGS]
# Runs the programs where neither our packages nor those that they need can be imported.
ELSEWHERE = """
import sys
class Blocker:
    def find_spec(self, name, *_):
        if name.split(".")[0] in ("transformer_jax", "experiments", "flax", "jaxtyping", "gin"):
            raise ImportError(name)
sys.meta_path.insert(0, Blocker())
from jax import export
import numpy as np
from safetensors.numpy import load_file
weights, inputs = load_file("weights.safetensors"), np.load("../inputs.npz")
logits, translate = (export.deserialize(open(f"{name}.stablehlo", "rb").read()) for name in ("logits", "translate"))
ids, lengths, scores = translate.call(weights, inputs["source"], inputs["limits"])
found = logits.call(weights, inputs["source"], inputs["target"])
np.savez("../outputs.npz", ids=ids, lengths=lengths, scores=scores, logits=found)
"""


@pytest.fixture(scope="module")
def trained(trained, tmp_path_factory):
    """A copy: exporting leaves the averaged weights there."""
    return Path(shutil.copytree(trained, tmp_path_factory.mktemp("to_export") / "run"))


@pytest.fixture(scope="module")
def exported(trained, tmp_path_factory):
    """A folder with a folder of each format."""
    folder = tmp_path_factory.mktemp("export")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jaxtyping.config.jaxtyping_disable", True)  # see `unchecked_types`
        for format in ("ctranslate2", "safetensors", "stablehlo"):
            args = (f"--workdir={trained}", f"--format={format}", f"--output={folder / format}", *PARAMS)
            ended = run_command("export", *args)
            assert (ended.code, ended.out, ended.err) == (0, b"", "")
    return folder


@pytest.fixture(scope="module")
def params(trained):
    return read_weights(trained, read_experiment(trained, [], [])).params


@pytest.fixture(scope="module")
def model(trained):
    return Transformer(read_experiment(trained, [], []).model, read_vocabulary(trained).size)


@pytest.fixture(scope="module")
def source(trained):
    sentences = [[*ids, EOS_ID] for ids in read_vocabulary(trained).encode_all(LINES)]
    ids = np.zeros((len(sentences), max(map(len, sentences))), np.int32)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = sentence
    return ids


@pytest.fixture(scope="module")
def limits(source):
    """The longest that the model can."""
    return np.full(len(source), 37, np.int32)


@pytest.fixture(scope="module")
def ours(exported, model, params, source, limits):
    """What the search finds, in a single program of its own."""
    decoding = read_experiment(exported / "safetensors", [], []).decoding
    found = jax.jit(make_search(model, decoding, max_steps=37))(params, source, limits)
    return jax.tree.map(np.asarray, found)


@pytest.mark.parametrize("format", ["ctranslate2", "safetensors", "stablehlo"])
def test_vocabulary_and_config_go_along(exported, trained, format):
    assert load_vocabulary(exported / format / "vocabulary.model").fingerprint == read_vocabulary(trained).fingerprint
    bindings = [param.removeprefix("--gin_param=") for param in PARAMS]
    assert read_experiment(exported / format, [], []) == read_experiment(trained, [], bindings)


def test_ctranslate2_translates_alike(exported, trained, source, ours):
    vocabulary = read_vocabulary(trained)
    translator = ctranslate2.Translator(str(exported / "ctranslate2"), compute_type="float32", intra_threads=1)
    tokens = [vocabulary.tokens(ids[(ids > 0) & (ids != EOS_ID)]) for ids in source]
    lengths = {"min_decoding_length": 0, "max_decoding_length": 37}
    found = translator.translate_batch(tokens, beam_size=2, length_penalty=0.6, return_scores=True, **lengths)
    in_time = np.flatnonzero(ours.finished.all(1))  # at the limit the rules differ
    assert len(in_time) > 4
    for i in in_time:
        assert found[i].hypotheses[0] == vocabulary.tokens(ours.ids[i, 0, : ours.lengths[i, 0] - 1])
        assert found[i].scores[0] == pytest.approx(ours.scores[i, 0], abs=1e-4)
    assert len(set(ours.scores[in_time, 0].tolist())) == len(in_time)


def test_safetensors_are_the_weights(exported, params):
    assert_equal(load_safetensors(exported / "safetensors" / "weights.safetensors"), jax.tree.map(np.asarray, params))


def test_stablehlo_runs_without_us(exported, model, params, source, limits, ours):
    np.savez(exported / "inputs.npz", source=source, target=source[::-1], limits=limits)
    environment = os.environ | {"JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}
    command = [sys.executable, "-c", ELSEWHERE]
    ended = subprocess.run(command, cwd=exported / "stablehlo", env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    outputs = np.load(exported / "outputs.npz")
    logits = jax.jit(lambda params, *sides: model.apply({"params": params}, *sides, deterministic=True))
    np.testing.assert_allclose(outputs["logits"], logits(params, source, source[::-1]), atol=1e-4)
    room = outputs["ids"].shape[2]
    np.testing.assert_array_equal(outputs["ids"], ours.ids[:, :, :room])
    np.testing.assert_array_equal(outputs["lengths"], ours.lengths)
    np.testing.assert_allclose(outputs["scores"], ours.scores, atol=1e-4)


def export(workdir, output, *, format="safetensors", params=()):
    return run_command("export", f"--workdir={workdir}", f"--format={format}", f"--output={output}", *params)


def test_what_is_there_stays(trained, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    before = snapshot(tmp_path)
    for output in (tmp_path / "full", tmp_path / "full" / "file"):
        rule = "is there already, and not an empty folder: choose another --output"
        require_one_line(export(trained, output), f"{output} {rule}")
    assert snapshot(tmp_path) == before
    (tmp_path / "empty").mkdir()
    assert export(trained, tmp_path / "empty").code == 0
    assert (tmp_path / "empty" / "weights.safetensors").exists()


def test_all_or_nothing(trained, tmp_path):
    sampling = ["--gin_param=Decoding.sampling_temperature = 1.0"]
    ended = export(trained, tmp_path / "new" / "model", format="stablehlo", params=sampling)
    require_one_line(ended, r"Decoding\.sampling_temperature: must be None, as the exported program is beam search")
    assert list((tmp_path / "new").iterdir()) == []


def test_nothing_is_trained_there(tmp_path):
    require_one_line(export(tmp_path, tmp_path / "model"), rf"{tmp_path} holds no run .*")
    assert list(tmp_path.iterdir()) == []


def test_the_large_library_is_imported_by_its_format_alone():
    code = "import sys, experiments.export; sys.exit('ctranslate2' in sys.modules)"
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root).returncode == 0
