"""What is kept is what was read, in order, whatever the shards; and reading goes on where it was killed."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer_jax.config import Cleaning
from transformer_jax.data.preparation.cleaning import broken_rule
from transformer_jax.data.preparation.sample import sampled_sentences
from transformer_jax.data.preparation.text_shards import num_pairs, read_texts, text_shards, write_text_shards

CLEANING = Cleaning(empty=True, identical=True, max_words=None, max_length_ratio=None, duplicate=True)
PAIRS = [(f"s{i}\n\x85\x00" * (i % 3), f"t{i}\ufeff\r" if i % 5 else f"s{i}\n\x85\x00" * (i % 3)) for i in range(23)]


def write(pairs, folder, *, pairs_per_shard=7, on_progress=lambda _: None):
    return write_text_shards(
        lambda start: islice(iter(pairs), start, None),
        CLEANING, folder, pairs_per_shard=pairs_per_shard, on_progress=on_progress,
    )  # fmt: skip


def read(folder):
    sides = []
    for side in ("source", "target"):
        rows = [(shard, np.arange(num_pairs(shard))) for shard in text_shards(folder)]
        sides.append([text for shard, all_rows in rows for text in read_texts(shard, side, all_rows)])
    return list(zip(*sides, strict=True))


@settings(max_examples=20, deadline=None)
@given(pairs=st.lists(st.tuples(st.text(max_size=4), st.text(max_size=4)), max_size=17), size=st.integers(1, 9))
def test_all_that_breaks_no_rule_is_kept_unchanged_and_the_rest_counted(tmp_path_factory, pairs, size):
    folder = tmp_path_factory.mktemp("text")
    report = write(pairs, folder, pairs_per_shard=size)
    assert read(folder) == [pair for pair in pairs if broken_rule(*pair, CLEANING) is None]
    assert (report.read, report.kept) == (len(pairs), len(read(folder)))
    for rule, count in report.removed.items():
        assert count == sum(broken_rule(*pair, CLEANING) == rule for pair in pairs)


class Killed(BaseException):
    pass


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_goes_on_after_the_last_shard_that_is_whole(tmp_path, shards):
    whole = tmp_path / "whole"
    whole.mkdir()
    expected = write(PAIRS, whole)
    cut = tmp_path / "cut"
    cut.mkdir()

    def kill(read_so_far):
        if read_so_far == 7 * shards:
            raise Killed

    with pytest.raises(Killed):
        write(PAIRS, cut, on_progress=kill)
    (cut / f".text-{shards:05}.tmp").mkdir()  # as of a process that was killed while it wrote the next one
    (cut / f".text-{shards:05}.tmp" / "junk").write_text("half")
    seen = []
    assert write(PAIRS, cut, on_progress=seen.append) == expected
    assert seen == [min(7 * (k + 1), 23) for k in range(shards - 1, 4)]
    files = [path.relative_to(whole) for path in sorted(whole.rglob("*"))]
    assert [path.relative_to(cut) for path in sorted(cut.rglob("*"))] == files
    assert all((whole / file).read_bytes() == (cut / file).read_bytes() for file in files if (whole / file).is_file())


def sample(folder, size, dropped):
    return list(sampled_sentences(text_shards(folder), [np.array(rows, np.int64) for rows in dropped], size))


def test_a_sample_lies_evenly_in_what_is_not_dropped(tmp_path):
    pairs = [(f"s{i}", f"t{i}") for i in range(11)]
    write(pairs, tmp_path, pairs_per_shard=4)
    dropped = [[1], [], [2]]  # of 4, 4 and 3: 1 and 10
    left = [0, 2, 3, 4, 5, 6, 7, 8, 9]
    for size in (None, 9, 100):
        assert sample(tmp_path, size, dropped) == [f"s{i}" for i in left] + [f"t{i}" for i in left]
    assert sample(tmp_path, 3, dropped) == ["s0", "s4", "s7", "t0", "t4", "t7"]
    assert sample(tmp_path, 1, dropped) == ["s0", "t0"]
