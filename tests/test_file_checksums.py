"""Any change to a folder's files is found and named."""

import json

import pytest

from transformer_jax.file_checksums import find_damage, keep_checksums


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "a").write_bytes(b"abc")
    (tmp_path / "b").write_bytes(b"")
    keep_checksums(tmp_path)
    return tmp_path


def test_files_as_they_were_are_whole(folder):
    assert find_damage(folder) is None
    keep_checksums(folder)
    assert find_damage(folder) is None


def test_they_are_sha256(folder):
    kept = json.loads((folder / "checksums.json").read_text())
    assert kept == {
        "b": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "below/a": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    }


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (lambda folder: (folder / "below" / "a").write_bytes(b"abd"), "below/a is not what was written"),
        (lambda folder: (folder / "below" / "a").write_bytes(b"ab"), "below/a is not what was written"),
        (lambda folder: (folder / "b").unlink(), "b is missing"),
        (lambda folder: (folder / "below" / "new").write_bytes(b""), "below/new is not what was written"),
        (lambda folder: (folder / "checksums.json").unlink(), "checksums.json is missing"),
        (lambda folder: (folder / "checksums.json").write_text("{"), "checksums.json is not what was written"),
    ],
)
def test_what_changed_is_named(folder, spoil, found):
    spoil(folder)
    assert find_damage(folder) == found
