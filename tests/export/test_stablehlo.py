"""An exported program gives what the model and its search give, for every shape that it takes."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from compilation import quick_to_compile
from export.exported_models import ending_model
from tiny_experiment import VOCAB_SIZE, tiny_experiment

from transformer_jax.decoding.model_search import make_search
from transformer_jax.export.export_error import ExportError
from transformer_jax.export.safetensors_file import flat
from transformer_jax.export.stablehlo import export_logits, export_translate
from transformer_jax.model.transformer import Transformer
from transformer_jax.special_ids import EOS_ID

__all__ = ["quick_to_compile"]

# Symbols in the place of sizes are no integers, as the tests' own checks want them.
pytestmark = pytest.mark.usefixtures("quick_to_compile", "unchecked_types")
SHAPES = ((1, 3), (5, 13))  # rows and positions


def random_ids(seed, rows, length):
    """Rows of random lengths, the first of all."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(4, VOCAB_SIZE, (rows, length)).astype(np.int32)
    lengths = np.array([length, *rng.integers(1, length + 1, rows - 1)])
    ids[np.arange(rows), lengths - 1] = EOS_ID
    return np.where(np.arange(length) < lengths[:, None], ids, 0)


def padded(array, *shape):
    return np.pad(array, [(0, new - old) for new, old in zip(shape, array.shape, strict=True)])


def test_logits_of_any_shape():
    experiment, params = ending_model()
    model = Transformer(experiment.model, VOCAB_SIZE)
    program = jax.export.deserialize(export_logits(model, params))
    assert program.platforms == ("cpu", "cuda", "tpu")
    apply = jax.jit(lambda source, target: model.apply({"params": params}, source, target, deterministic=True))
    for rows, length in SHAPES:
        source, target = random_ids(1, rows, length), random_ids(2, rows, 14 - length)
        expected = apply(padded(source, 5, 13), padded(target, 5, 13))[:rows, : 14 - length]
        np.testing.assert_allclose(program.call(flat(params), source, target), expected, atol=1e-5)
    with pytest.raises(ValueError, match="shapes"):  # a table of positions would silently end
        program.call(flat(params), random_ids(3, 1, 62), random_ids(4, 1, 2))


def test_translations_of_any_shape():
    experiment, params = ending_model(beam_size=3, max_extra_length=0)
    decoding = replace(experiment.decoding, max_length_ratio=1.5)
    model = Transformer(experiment.model, VOCAB_SIZE)
    program = jax.export.deserialize(export_translate(model, params, decoding))
    search = jax.jit(make_search(model, decoding, max_steps=27))
    for rows, length in SHAPES:
        source, limits = random_ids(5, rows, length), np.array([99, 0, 7, 11, 26], np.int32)[:rows]
        ids, lengths, scores = program.call(flat(params), source, limits)
        room = 2 * length + 1
        expected = search(params, padded(source, 5, 13), padded(np.minimum(limits, room), 5))
        assert ids.shape == (rows, 3, room)
        np.testing.assert_array_equal(ids, expected.ids[:rows, :, :room])
        np.testing.assert_array_equal(lengths, expected.lengths[:rows])
        np.testing.assert_allclose(scores, expected.scores[:rows], atol=1e-5)


@pytest.mark.parametrize("setting", [{"sampling_temperature": 0.5}, {"min_length_ratio": 0.1}])
def test_a_search_that_is_not_exported_is_refused(setting):
    experiment = tiny_experiment(**setting)
    with pytest.raises(ExportError, match=rf"Decoding\.{next(iter(setting))}: must be"):
        export_translate(Transformer(experiment.model, VOCAB_SIZE), {}, experiment.decoding)
