"""`train` and `evaluate` on a disc that fills: one line, a code that is not 0, and the same command goes on."""

import shutil

import pytest
from small_disc import fill, small_disc
from tiny_commands import run_command

from transformer_jax.training.metrics_log import read_metrics

pytestmark = pytest.mark.slow
MEBI = 2**20


def checkpoint_sums(run):
    return {path.name: (path / "manifest" / "metadata").read_text() for path in (run / "checkpoints").iterdir()}


def size(folder):
    """On the disc, on which a file takes whole blocks."""
    return sum(-(-path.stat().st_size // 4096) * 4096 for path in folder.rglob("*") if path.is_file())


def test_training_goes_on_when_there_is_room(trained, trained_config, tmp_path):
    """There is room for one checkpoint of three, above the one MiB that a save wants."""
    train = ["train", f"--gin_file={trained_config}"]
    with small_disc(tmp_path / "disc", 4096) as disc:
        filling = fill(disc, leave=MEBI + size(trained) - size(trained / "checkpoints") * 5 // 9)
        ended = run_command(*train, f"--workdir={disc / 'run'}")
        assert ended.code == 1
        assert ended.err.splitlines()[-1].startswith(f"error: {disc / 'run' / 'checkpoints'}: the disc is full: ")
        assert "Traceback" not in ended.err
        assert checkpoint_sums(disc / "run").items() < checkpoint_sums(trained).items()
        filling.unlink()
        again = run_command(*train, f"--workdir={disc / 'run'}")
        assert again.code == 0
        assert "resumed from step 50\n" in again.err
        assert checkpoint_sums(disc / "run") == checkpoint_sums(trained)
        steps = [(record["kind"], record["step"]) for record in read_metrics(disc / "run" / "metrics.jsonl")]
        assert steps == [(record["kind"], record["step"]) for record in read_metrics(trained / "metrics.jsonl")]


def test_translations_without_room(trained, tmp_path):
    with small_disc(tmp_path / "disc", 4096) as disc:
        run = shutil.copytree(trained, disc / "run")
        shutil.rmtree(run / "averaged", ignore_errors=True)
        assert run_command("evaluate", f"--workdir={run}", "--split=dev").code == 0
        before = (run / "results.json").read_bytes()
        filling = fill(disc, leave=0)
        ended = run_command("evaluate", f"--workdir={run}", "--split=test")
        assert ended.code == 1
        assert ended.err.strip().startswith(f"error: {run}: the disc is full: 0.0 MiB are free; make room, ")
        assert len(ended.err.strip().splitlines()) == 1
        assert (run / "results.json").read_bytes() == before
        assert not list(run.rglob("*.tmp"))
        filling.unlink()
        assert run_command("evaluate", f"--workdir={run}", "--split=test").code == 0
