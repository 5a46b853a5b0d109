"""The library's layers, read from its source: an import that turns an arrow round fails here."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PROJECT_ROOT = Path(__file__).resolve().parents[1]
LIBRARY = "transformer_jax"
LEVELS: dict[str, int] = {
    **dict.fromkeys(["checked", "config", "errors", "file_checksums", "lock", "parallel", "special_ids", "trees"], 0),
    **dict.fromkeys(["model", "data", "metrics"], 1),
    **dict.fromkeys(["training", "decoding", "tasks", "analysis"], 2),
    **dict.fromkeys(["evaluation", "export"], 3),
}
# Who alone may name it. A name matches itself and whatever it qualifies.
ONLY_IN = {
    "ctranslate2": "transformer_jax/export/",
    "gin": "experiments/gin_bindings.py",
    "jax.export": "transformer_jax/export/",
    "jax.pmap": "transformer_jax/parallel/",
    "jax.lax.psum": "transformer_jax/parallel/",
    "jax.lax.pmean": "transformer_jax/parallel/",
    "jax.lax.axis_index": "transformer_jax/parallel/",
    "jax.distributed": "transformer_jax/parallel/",
    "orbax": "transformer_jax/training/checkpoint.py",
    "optuna": "experiments/study/",
    "ray": "experiments/launchers/ray_cluster.py",
    "sacremoses": "transformer_jax/metrics/paper_bleu.py",
    "safetensors": "transformer_jax/export/",
    "sentencepiece": "transformer_jax/data/vocabularies/",
    "sqlalchemy": "experiments/study/",
    "subword_nmt": "transformer_jax/data/vocabularies/",
    "tensorflow_datasets": "transformer_jax/data/tfds_pairs.py",
}
NOT_IN_THE_LIBRARY = ("print", "absl", "argparse", "gin")
MOST_LINES, MOST_FUNCTION_LINES = 250, 50


class Source(NamedTuple):
    """A file: its path from the project's root, its module's name, its text."""

    path: str
    text: str

    @property
    def module(self) -> str:
        return self.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def sources(*packages: str) -> list[Source]:
    paths = sorted(path for package in packages for path in (PROJECT_ROOT / package).rglob("*.py"))
    return [Source(path.relative_to(PROJECT_ROOT).as_posix(), path.read_text()) for path in paths]


LIBRARY_SOURCES = sources(LIBRARY)
ALL_SOURCES = sources(LIBRARY, "experiments")


def imported_names(source: Source) -> Iterator[tuple[str, str]]:
    """(name that the file uses, full name of what it is) of every import, at the top or inside a function."""
    for node in ast.walk(ast.parse(source.text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.split(".")[0],) * 2
                yield alias.name, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{source.path}, line {node.lineno}: a relative import"
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def dotted(node: ast.expr) -> str | None:
    """ "jax.lax.psum" for that expression; None if it is not made of names and dots alone."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (value := dotted(node.value)):
        return f"{value}.{node.attr}"
    return None


def named(source: Source) -> set[str]:
    """Full names of all that a file imports or mentions, and modules that it imports by a string."""
    imports = dict(imported_names(source))
    found = set(imports.values())
    for node in ast.walk(ast.parse(source.text)):
        if isinstance(node, (ast.Name, ast.Attribute)) and (name := dotted(node)):
            first, dot, rest = name.partition(".")
            found.add(imports.get(first, first) + dot + rest)
        if isinstance(node, ast.Call) and dotted(node.func) == "importlib.import_module":
            found |= {part.value for part in ast.walk(node.args[0]) if isinstance(part, ast.Constant)}
    return found


def is_or_is_in(name: str, prefix: str) -> bool:
    return f"{name}.".startswith(f"{prefix}.")


def wrong_arrows(source: Source) -> list[str]:
    """What a file of the library imports from its own level or above, its own package apart."""
    package = source.module.split(".")[1:2]
    if not package:
        return []  # transformer_jax/__init__.py
    level = LEVELS[package[0]]
    wrong = []
    for name in sorted({name for name in named(source) if is_or_is_in(name, LIBRARY) and name != LIBRARY}):
        other = name.split(".")[1]
        if (other != package[0] and LEVELS[other] >= level > 0) or LEVELS[other] > level:
            wrong.append(f"{source.path} may not import {name}")
    return wrong


def out_of_place(source: Source) -> list[str]:
    return [
        f"{source.path} names {name}: only {home} may"
        for name in sorted(named(source))
        for prefix, home in ONLY_IN.items()
        if is_or_is_in(name, prefix) and not source.path.startswith(home)
    ]


def function_lengths(source: Source) -> dict[str, int]:
    nodes = ast.walk(ast.parse(source.text))
    functions = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return {function.name: function.end_lineno - function.lineno + 1 for function in functions}


@pytest.mark.parametrize("source", LIBRARY_SOURCES, ids=lambda source: source.path)
def test_arrows_point_down(source):
    assert wrong_arrows(source) == []


@pytest.mark.parametrize("source", LIBRARY_SOURCES, ids=lambda source: source.path)
def test_the_library_knows_no_command_line(source):
    names = named(source)
    assert not [name for name in names if is_or_is_in(name, "experiments")]
    assert not [name for name in names for banned in NOT_IN_THE_LIBRARY if is_or_is_in(name, banned)]


@pytest.mark.parametrize("source", ALL_SOURCES, ids=lambda source: source.path)
def test_each_dependency_has_its_place(source):
    assert out_of_place(source) == []


@pytest.mark.parametrize("source", ALL_SOURCES, ids=lambda source: source.path)
def test_files_and_functions_are_short(source):
    assert len(source.text.splitlines()) <= MOST_LINES
    assert {name: lines for name, lines in function_lengths(source).items() if lines > MOST_FUNCTION_LINES} == {}


def test_each_place_names_its_dependency():
    """The rules above would hold of a library that does nothing."""
    by_path = {source.path: source for source in ALL_SOURCES}
    lax = ("jax.pmap", "jax.lax.psum", "jax.lax.axis_index")
    formats = ("ctranslate2", "jax.export", "safetensors")
    for prefix in ("gin", *lax, *formats, "optuna", "orbax", "ray", "sqlalchemy", "tensorflow_datasets"):
        homes = [source for path, source in by_path.items() if path.startswith(ONLY_IN[prefix])]
        assert any(is_or_is_in(name, prefix) for source in homes for name in named(source)), prefix
    assert {source.module.split(".")[1] for source in LIBRARY_SOURCES if source.module != LIBRARY} <= LEVELS.keys()


def test_training_starts_without_what_only_scoring_needs():
    """Imports of a second or more before the first update."""
    names = "['scipy', 'sacremoses', 'matplotlib', 'pandas', 'optuna', 'selenium']"
    code = f"import experiments.train, sys; print([name for name in {names} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PROJECT_ROOT)
    assert ran.stdout == "[]\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("transformer_jax/model/x.py", "from transformer_jax.training import step"),
        ("transformer_jax/model/x.py", "import transformer_jax.data.corpus"),
        ("transformer_jax/model/x.py", "import transformer_jax\ntransformer_jax.training.step.make_train_step()"),
        ("transformer_jax/data/x.py", "from transformer_jax import config, metrics"),
        ("transformer_jax/data/x.py", "def f():\n    from transformer_jax.decoding.beam_search import beam_search"),
        ("transformer_jax/data/x.py", "import importlib\nimportlib.import_module('transformer_jax.model.transformer')"),
        ("transformer_jax/decoding/x.py", "from transformer_jax import evaluation as e"),
        ("transformer_jax/config.py", "from transformer_jax.data.corpus import Corpus"),
    ],
)
def test_a_wrong_arrow_is_found(path, text):
    assert wrong_arrows(Source(path, text))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("transformer_jax/model/x.py", "from transformer_jax import config, special_ids\nimport jax"),
        ("transformer_jax/model/x.py", "from transformer_jax.model.masks import causal_mask"),
        (
            "transformer_jax/training/x.py",
            "import transformer_jax.model\nfrom transformer_jax.data import batching",
        ),
        ("transformer_jax/evaluation.py", "from transformer_jax.decoding import translator"),
        ("transformer_jax/parallel/x.py", "from transformer_jax.errors import UserError"),
    ],
)
def test_a_right_arrow_is_not(path, text):
    assert wrong_arrows(Source(path, text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "import jax\njax.pmap(f)",
        "from jax import lax\nlax.psum(x, 'devices')",
        "from jax.lax import psum as total",
        "import jax.distributed",
        "import orbax.checkpoint as ocp",
        "from gin import config_parser",
        "def f():\n    import ray",
        "from optuna.trial import Trial",
        "def f():\n    import tensorflow_datasets",
        "import importlib\nimportlib.import_module(f'tensorflow_datasets.translate.{name}')",
    ],
)
def test_a_dependency_out_of_place_is_found(text):
    assert out_of_place(Source("transformer_jax/training/x.py", text))
    assert not out_of_place(Source("transformer_jax/training/x.py", "import jax\njax.lax.scan(psum, origin)"))
