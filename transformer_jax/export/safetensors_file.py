"""Parameters as a flat file of named float32 arrays, which many libraries read without running any code of it."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import safetensors
from flax import traverse_util
from safetensors.numpy import load_file, save

from transformer_jax.export.export_error import ExportError
from transformer_jax.model.transformer import Params

Weights = dict[str, np.ndarray]  # by name: "decoder/layers_0/feed_forward/inner/kernel"


def flat(params: Params) -> Weights:
    """The tree's leaves by their path."""
    return {name: np.asarray(leaf, np.float32) for name, leaf in traverse_util.flatten_dict(params, sep="/").items()}


def nested(weights: Mapping[str, np.ndarray]) -> Params:
    """The inverse of `flat`."""
    return traverse_util.unflatten_dict(weights, sep="/")


def save_safetensors(path: Path, params: Params, metadata: Mapping[str, str]) -> None:
    """Writes the arrays, and the metadata into the file's head."""
    path.write_bytes(save(flat(params), dict(metadata)))


def load_safetensors(path: Path) -> Params:
    """The parameters, as they were saved.

    Raises:
      ExportError: there is no such file, or another one.
    """
    try:
        return nested(load_file(path))
    except (OSError, safetensors.SafetensorError) as error:
        raise ExportError(f"{path} holds no weights: {error}") from error
