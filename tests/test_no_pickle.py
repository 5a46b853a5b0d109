"""No file that is read can run code: nothing here unpickles, nor asks a library to."""

import ast
from pathlib import Path

import numpy as np
import pytest

from transformer_jax.data.ragged import Ragged

PROJECT_ROOT = Path(__file__).resolve().parents[1]
UNPICKLES = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "shelve", "marshal", "torch"}
PATHS = sorted(
    path for package in ("transformer_jax", "experiments") for path in (PROJECT_ROOT / package).rglob("*.py")
)


def unpickling(text: str) -> list[str]:
    """What of a file might."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in UNPICKLES]
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] in UNPICKLES:
            found.append(str(node.module))
        if isinstance(node, ast.keyword) and node.arg in ("allow_pickle", "weights_only"):
            found.append(node.arg)
    return found


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.relative_to(PROJECT_ROOT).as_posix())
def test_nothing_unpickles(path):
    assert unpickling(path.read_text()) == []


@pytest.mark.parametrize(
    "text", ["import pickle", "from torch import load", "def f():\n    import dill", "np.load(x, allow_pickle=True)"]
)
def test_what_does_is_found(text):
    assert unpickling(text)


def test_an_array_of_objects_is_not_read(tmp_path):
    """As numpy would, if it were asked to."""
    Ragged(np.zeros(3, np.uint16), np.array([0, 3])).save(tmp_path, "source")
    np.save(tmp_path / "source_values.npy", np.array([{"code": 1}], object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"^(Array can't be memory-mapped|Object arrays cannot be loaded)"):
        Ragged.load(tmp_path, "source")
