"""One trained run that the tests of the commands share."""

import shutil
from pathlib import Path

import pytest
from compilation import compiled_once, quick_to_compile
from tiny_commands import run_command, write_corpus

__all__ = ["compiled_once", "quick_to_compile"]


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `run` was trained in, beside `text` with corpus and config. Not to be changed: see `copied`.

    Translating keeps averaged weights there, whichever test does so first: `files.txt` says what training left.
    """
    home = tmp_path_factory.mktemp("trained")
    config = write_corpus(home / "text")
    ended = run_command("train", f"--gin_file={config}", f"--workdir={home / 'run'}")
    assert ended.code == 0, ended.err
    (home / "train.err").write_text(ended.err)
    (home / "files.txt").write_text("\n".join(path.name for path in (home / "run").iterdir()))
    return home / "run"


@pytest.fixture(scope="session")
def trained_config(trained: Path) -> Path:
    return trained.parent / "text" / "tiny.gin"


@pytest.fixture
def copied(trained: Path, tmp_path: Path) -> Path:
    """A copy of the trained run, with the corpus where it was."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A config, beside its text, that a test may spoil."""
    return write_corpus(tmp_path / "text")
