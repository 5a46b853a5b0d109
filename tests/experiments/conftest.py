"""Runs to be compared, made up."""

import pytest
from run_folders import make_translated_run, write_text


@pytest.fixture(scope="session")
def compared_text(tmp_path_factory):
    """The config of a tiny corpus."""
    return write_text(tmp_path_factory.mktemp("compared") / "text")


@pytest.fixture
def pair(compared_text, tmp_path):
    """`pair(bindings, changes)`: two runs' folders, the second with what is given."""

    def make(*bindings, **changes):
        return (
            make_translated_run(tmp_path / "a", compared_text),
            make_translated_run(tmp_path / "b", compared_text, *bindings, **changes),
        )

    return make
