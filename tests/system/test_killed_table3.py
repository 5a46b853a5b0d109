"""Table 3's command, killed again and again, ends with the table that it would have made at once."""

import pytest
from killed_command import kill, run, starter
from tiny_rows import quality, write_scale

ROWS = "base,D_P_drop_0.0"
# After so many lines on standard error: in the data, in training, beside a checkpoint, while scoring, in the next run.
KILLED_AFTER_LINES = (1, 3, 5, 6, 8, 10, 12)


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    scale = write_scale(tmp_path_factory.mktemp("corpus"))
    return starter(tmp_path_factory.mktemp("compiled"), "table3", f"--rows={ROWS}", f"--gin_file={scale}")


@pytest.mark.slow
def test_the_table_does_not_depend_on_how_often_it_was_killed(start, tmp_path):
    run(start, tmp_path / "at_once")
    kill(start, tmp_path / "killed", KILLED_AFTER_LINES)
    run(start, tmp_path / "killed")
    assert quality(tmp_path / "killed" / "table3.csv") == quality(tmp_path / "at_once" / "table3.csv")
    for row in ROWS.split(","):
        one, other = (tmp_path / name / row / "seed_1" for name in ("killed", "at_once"))
        assert (one / "translations.dev.jsonl").read_text() == (other / "translations.dev.jsonl").read_text()
