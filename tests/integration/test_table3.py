"""The rows of Table 3 from one command: run, stopped, gone on with, tabulated; and what is refused."""

import json
import re
import shutil
from pathlib import Path

import pytest
from tiny_commands import StopAfter, require_one_line, run_command, snapshot
from tiny_rows import quality, write_scale

from experiments import command
from experiments.gin_bindings import load_experiment

pytestmark = pytest.mark.usefixtures("compiled_once")
ROWS = ["base", "D_eps_ls_0.2"]


@pytest.fixture(scope="module")
def scale(tmp_path_factory) -> Path:
    return write_scale(tmp_path_factory.mktemp("corpus"))


def table3(scale: Path, workdir: Path, *flags: str, rows=ROWS):
    return run_command("table3", f"--rows={','.join(rows)}", f"--gin_file={scale}", f"--workdir={workdir}", *flags)


@pytest.fixture(scope="module")
def folders(scale, tmp_path_factory) -> dict[str, Path]:
    """The same list twice: run through at once, and stopped within the second run, then gone on with."""
    home = tmp_path_factory.mktemp("lists")
    assert table3(scale, home / "at_once").code == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "StopOnSignal", lambda: StopAfter(24 + 17))
        assert table3(scale, home / "stopped").code == 0
    (home / "first_table.csv").write_text((home / "stopped" / "table3.csv").read_text())
    assert table3(scale, home / "stopped").code == 0
    return {path.name: path for path in home.iterdir()}


def test_every_row_is_the_papers_scaled_and_each_has_its_results(folders):
    for row in ROWS:
        folder = folders["at_once"] / row / "seed_1"
        experiment = load_experiment([folder / "config.gin"])
        assert (experiment.model.d_model, experiment.model.d_ff, experiment.model.num_heads) == (16, 64, 8)
        assert experiment.training.label_smoothing == (0.2 if row == "D_eps_ls_0.2" else 0.1)
        entry = json.loads((folder / "results.json").read_text())["dev"]
        assert entry["sentences"] == 13
        assert entry["checkpoint_steps"] == [24], "one checkpoint, not a mean"
        assert entry["training"]["updates"] == 24
        assert entry["training"]["flops"] > 0


def test_the_table_is_there_in_every_format(folders):
    root = folders["at_once"]
    for suffix in ("md", "csv", "tex", "png", "svg"):
        assert (root / f"table3.{suffix}").stat().st_size > 100
    assert all(row in (root / "table3.md").read_text() for row in ROWS)


def test_a_list_that_was_stopped_ends_with_the_same_table(folders):
    for row in ROWS:
        one, other = (folders[name] / row / "seed_1" for name in ("at_once", "stopped"))
        assert (one / "translations.dev.jsonl").read_text() == (other / "translations.dev.jsonl").read_text()
    assert quality(folders["stopped"] / "table3.csv") == quality(folders["at_once"] / "table3.csv")
    half = quality(folders["first_table.csv"])
    assert half[0] == quality(folders["at_once"] / "table3.csv")[0]
    assert half[1] != quality(folders["at_once"] / "table3.csv")[1], "it was not finished"


def test_what_is_finished_is_not_run_again(folders, scale):
    before = snapshot(folders["at_once"])
    ended = table3(scale, folders["at_once"])
    assert ended.code == 0
    assert "tokens/s" not in ended.err
    after = snapshot(folders["at_once"])
    assert {name for name in before if before[name] != after[name]} <= {f"table3.{end}" for end in ("png", "svg")}
    assert after.keys() == before.keys()


def test_base_is_compared_with_where_it_is_there(folders, scale):
    ended = table3(scale, folders["at_once"], "--table_only", rows=["D_eps_ls_0.2"])
    (row,) = quality(folders["at_once"] / "table3.csv")
    assert ended.code == 0
    assert float(row["bleu_from_base_value"]) == 0, "neither can say a word yet"
    table3(scale, folders["at_once"], "--table_only")


def test_a_dry_run_lists_what_is_left_and_makes_nothing(folders, scale):
    before = snapshot(folders["at_once"])
    ended = table3(scale, folders["at_once"], "--dry_run", "--seeds=2")
    assert ended.code == 0
    lines = ended.out.decode().splitlines()
    assert [line.split()[0] for line in lines[:-2]] == ["base/seed_2", "D_eps_ls_0.2/seed_2"]
    assert lines[-2].startswith("2 runs left: ")
    assert "from 2 runs in " in lines[-1]
    assert snapshot(folders["at_once"]) == before


@pytest.mark.slow
def test_a_dry_run_before_any_run_measures_the_speed_and_needs_no_data(scale, tmp_path):
    ended = table3(scale, tmp_path / "new", "--dry_run", '--gin_param=Data.directory = "nowhere"')
    assert ended.code == 0
    assert "updates of base/seed_1 on random ids" in ended.out.decode()
    assert not (tmp_path / "new").exists()


def test_params_need_neither_workdir_nor_training():
    ended = run_command("table3", "--params")
    assert ended.code == 0
    assert "June 2017" in ended.out.decode()


@pytest.mark.parametrize(
    ("rows", "flags", "pattern"),
    [
        (["base", "A_h_3"], [], r"--rows=base,A_h_3: A_h_3 is no row; rows are base, A_h_1, .*, big"),
        ([""], [], r"--rows=: nothing is no row; rows are .*"),
        (["big"], ["--gin_param=Scale.divisor = 7"],
         r"big: .*big\.gin, line \d+: Model.d_model = 1024.* Scale.divisor = 7"),
        (["base"], ["--gin_param=Scale.divisr = 8"],
         r"base: .*: Scale.divisr is no setting; did you mean Scale.divisor\?"),
        (["base"], ["--gin_param=Training.num_step = 8"],
         r"base: .*: Training.num_step is no setting; did you mean Training.num_steps\?"),
        (["base"], ["--gin_file=nowhere.gin"], r"base: nowhere.gin: No such file or directory"),
        (["base"], ["--gin_param=Data.train = \"nowhere.tsv\""], r".*nowhere\.tsv.*"),
        (["base"], ["--seeds=0"], r"--workdir is required, and --seeds must be at least 1 .*"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line_and_nothing_is_made(scale, tmp_path, rows, flags, pattern):
    require_one_line(table3(scale, tmp_path / "new", *flags, rows=rows), pattern)
    assert not (tmp_path / "new").exists()


def test_a_folder_of_something_else_is_left_alone(scale, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    before = snapshot(tmp_path)
    require_one_line(table3(scale, tmp_path), r".* is no folder of Table 3's rows \(it holds notes.txt\): choose .*")
    require_one_line(table3(scale, tmp_path / "notes.txt"), r".*notes.txt is not a directory: choose another --workdir")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("flags", [[], ["--table_only"], ["--dry_run"]])
def test_rows_of_another_scale_are_left_alone(folders, scale, flags):
    before = snapshot(folders["at_once"])
    ended = table3(scale, folders["at_once"], "--gin_param=Training.num_steps = 25", *flags)
    require_one_line(ended, r".*base/seed_1 was made with another config \(Training.num_steps: 24 -> 25\): choose .*")
    assert snapshot(folders["at_once"]) == before


def test_results_that_cannot_be_compared_are_not(folders, scale, tmp_path):
    root = Path(shutil.copytree(folders["at_once"], tmp_path / "list"))
    path = root / ROWS[1] / "seed_1" / "results.json"
    path.write_text(path.read_text().replace('"corpus_sha256": "', '"corpus_sha256": "0'))
    ended = table3(scale, root, "--table_only")
    require_one_line(ended, r"D_eps_ls_0.2/seed_1 and base/seed_1 cannot be compared: their corpus_sha256 differ")


def test_the_table_goes_into_a_page_with_its_picture_and_conclusions(folders, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("above\n<!-- results: written by experiments.report -->\nold\n<!-- end of results -->\nbelow\n")
    assert run_command("report", str(folders["at_once"]), f"--into={page}").code == 0
    written = (tmp_path / "docs" / "at_once.md").read_text()
    for file in ("table3.md", "table3_conclusions.md"):
        assert (folders["at_once"] / file).read_text() in written
    (picture,) = re.findall(r"!\[[^]]+\]\(([^)]+)\)", written)
    assert (tmp_path / "docs" / picture).read_bytes() == (folders["at_once"] / "table3.png").read_bytes()
    assert "- [at_once](docs/at_once.md): Table 3. Of 29 statements, " in page.read_text()
