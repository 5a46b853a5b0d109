"""One trained parser that the tests of the commands share."""

import functools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tiny_commands import PROJECT_ROOT, run_command

from experiments import parse, silver
from experiments.parser import read_parser
from experiments.workdir import read_experiment
from transformer_jax.config import Experiment
from transformer_jax.data.builtin_trees import builtin_trees
from transformer_jax.decoding.parser import Parser

SIZES = {"train": 400, "dev": 12, "test": 15}
# It learns, in seconds, enough that its trees depend on their sentences.
SETTINGS = """
Data.train = "trees:train.trees"
Data.dev = "trees:dev.trees"
Data.test = "trees:test.trees"
Data.target_language = "trees"
Data.vocab_size = 330
Data.merge_across_scripts = True
Data.max_train_length = 60
Batching.tokens_per_batch = 1024
Batching.tokens_per_device = 128
Batching.num_shapes = 1
Model.num_layers = 1
Model.d_model = 16
Model.d_ff = 23
Model.num_heads = 2
Model.d_k = 5
Model.d_v = 7
Model.max_length = 64
Model.dropout_rate = 0.0
Training.num_steps = 90
Training.log_every_steps = 45
Training.evaluate_every_steps = 90
Training.checkpoint_every_steps = 45
Training.keep_checkpoints = 2
Optimizer.warmup_steps = 40
Decoding.average_checkpoints = 1
Decoding.beam_size = 2
Decoding.max_extra_length = 40
Decoding.tokens_per_batch = 512
"""


def write_treebank(folder: Path) -> Path:
    """Trees of three splits, short ones, and the config, `tiny.gin`, which is returned."""
    folder.mkdir()
    for split, size in SIZES.items():
        trees = [tree for tree in builtin_trees(split) if len(tree.words()) <= 9][:size]
        (folder / f"{split}.trees").write_text("".join(f"(TOP {tree})\n" for tree in trees), encoding="utf-8")
    config = folder / "tiny.gin"
    base = PROJECT_ROOT / "gin_configs" / "base.gin"
    places = f'Data.directory = "{folder}"\nData.cache_directory = "{folder / "cache"}"\n'
    config.write_text(f'include "{base}"\n{SETTINGS}{places}', encoding="utf-8")
    return config


@pytest.fixture(scope="session")
def trained_parser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `tiny` was trained in, beside `trees` with the treebank and config. Not to be changed."""
    home = tmp_path_factory.mktemp("parser")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jaxtyping.config.jaxtyping_disable", True)
        config = write_treebank(home / "trees")
    ended = run_command("train", f"--gin_file={config}", f"--workdir={home / 'runs' / 'tiny'}")
    assert ended.code == 0, ended.err
    return home / "runs" / "tiny"


@pytest.fixture(scope="session")
def treebank(trained_parser: Path) -> Path:
    return trained_parser.parents[1] / "trees"


@pytest.fixture(scope="module", autouse=True)
def compiled_parser() -> Iterator[None]:
    """The commands parse with one parser of the run, whose search is compiled once, unless settings differ."""

    def read(workdir: Path, experiment: Experiment) -> Parser:
        return (
            _read_once(workdir) if experiment == read_experiment(workdir, [], []) else read_parser(workdir, experiment)
        )

    with pytest.MonkeyPatch.context() as patch:
        for module in (parse, silver):
            patch.setattr(module, "read_parser", read)
        yield


@functools.cache
def _read_once(workdir: Path) -> Parser:
    return read_parser(workdir, read_experiment(workdir, [], []))


@pytest.fixture
def copied_parser(trained_parser: Path, tmp_path: Path) -> Path:
    """A copy of the run, alone in a folder, with the treebank where it was."""
    return Path(shutil.copytree(trained_parser, tmp_path / "runs" / "tiny"))
