"""Parameters come back from a file as they were, bit by bit."""

import jax
import numpy as np
import pytest
from random_params import random_params
from safetensors import safe_open
from tiny_experiment import VOCAB_SIZE, tiny_experiment
from train_states import assert_equal

from transformer_jax.export.export_error import ExportError
from transformer_jax.export.safetensors_file import load_safetensors, save_safetensors


def test_what_is_read_is_what_was_written(tmp_path):
    params = random_params(tiny_experiment(shared_embedding=False, num_layers=2).model, VOCAB_SIZE)
    path = tmp_path / "weights"
    save_safetensors(path, params, {"config": "x = 'é'\ny = 2"})
    assert_equal(load_safetensors(path), jax.tree.map(np.asarray, params))
    with safe_open(path, framework="numpy") as file:
        assert file.metadata() == {"config": "x = 'é'\ny = 2"}
        kernel = file.get_tensor("decoder/layers_1/self_attention/query/kernel")
    np.testing.assert_array_equal(kernel, params["decoder"]["layers_1"]["self_attention"]["query"]["kernel"])


def test_a_file_that_is_not_there_or_damaged_is_named(tmp_path):
    path = tmp_path / "weights"
    with pytest.raises(ExportError, match=f"{path} holds no weights: "):
        load_safetensors(path)
    save_safetensors(path, {"a": {"b": np.arange(5, dtype=np.float32)}}, {})
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ExportError, match=f"{path} holds no weights: "):
        load_safetensors(path)
