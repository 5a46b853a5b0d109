"""Bad input ends a command with one line that names the file, line or setting, and nothing is changed."""

import shutil
from pathlib import Path

import pytest
from tiny_commands import require_one_line, run_command, snapshot


def without_cache(folder: Path):
    """What was learned and encoded from text that can be read is kept, and is nobody's run."""
    return {name: digest for name, digest in snapshot(folder).items() if not name.startswith("text/cache")}


def remove_a_file(text):
    (text / "train.de").unlink()


def cut_a_line(text):
    lines = (text / "train.de").read_text().splitlines(keepends=True)
    (text / "train.de").write_text("".join(lines[:-1]))


def spoil_a_byte(text):
    lines = (text / "dev.en").read_bytes().splitlines(keepends=True)
    (text / "dev.en").write_bytes(b"".join([*lines[:6], b"caf\xe9 noir\n", *lines[7:]]))


def empty_the_training_text(text):
    for language in ("en", "de"):
        (text / f"train.{language}").write_text("")


def write_blank_sources(text):
    (text / "train.en").write_text(" \n" * 211)


def write_long_dev_pair(text):
    for language in ("en", "de"):
        with (text / f"dev.{language}").open("a") as file:
            file.write("a lamp " * 40 + "\n")


def leave_a_tab_out(text):
    with (text / "test.tsv").open("a") as file:
        file.write("no translation\n")


def leave(_text):
    pass


BAD_TEXT = {
    "missing file": (remove_a_file, [], r"\S+/text/train\.de: No such file or directory"),
    "unequal counts": (
        cut_a_line, [], r"\S+/text/train\.en has 211 lines but \S+/text/train\.de has 210: must be parallel",
    ),
    "not UTF-8": (spoil_a_byte, [], r"\S+/text/dev\.en, line 7: not UTF-8 \(.*\)"),
    "no training text": (
        empty_the_training_text, [], r"Data\.train = \('train\.en', 'train\.de'\): holds no sentence pairs",
    ),
    "nothing on one side": (
        write_blank_sources, ["Data.vocab_size = 41"],
        r"no training pair is left of 211: 211 have an empty side, 0 a side longer than 31 tokens",
    ),
    "all pairs too long": (
        leave, ["Data.max_train_length = 3"],
        r"no training pair is left of 211: 0 have an empty side, 211 a side longer than 3 tokens",
    ),
    "dev pair too long": (
        write_long_dev_pair, [], r"\S+/dev\.en and \S+/dev\.de: a sentence has \d+ tokens, more than .*max_length = 37",
    ),
    "no tab": (leave_a_tab_out, [], r"\S+/test\.tsv, line 12: no tab before column 2; tabs divide columns"),
    "vocabulary too large": (
        leave, ["Data.vocab_size = 4001"], r"vocab_size = 4001: the training text \w+ (at most )?\d+ pieces",
    ),
    "vocabulary too small": (leave, ["Data.vocab_size = 9"], r"vocab_size = 9: must be at least \d+, one piece .*"),
    "no such corpus": (leave, ['Data.test = "test.csv"'], r"corpus 'test\.csv': must be two paths, .*"),
    "no such tokeniser": (
        leave, ['Scoring.bleu_tokenizer = "moses"'], r"BLEU tokeniser 'moses': must be one of 'none', .*'13a'.*",
    ),
    "a tokeniser without its package": (
        leave, ['Scoring.bleu_tokenizer = "ja-mecab"'], r"BLEU tokeniser 'ja-mecab' cannot be used: .* install .*",
    ),
    "misspelt binding": (
        leave, ["Model.num_layer = 2"],
        r"--gin_param=Model\.num_layer = 2: Model\.num_layer is no setting; did you mean Model\.num_layers\?",
    ),
    "value that cannot be": (leave, ["Model.num_heads = 0"], r"--gin_param=.*: Model\.num_heads = 0: must be .*"),
    "cache that is a file": (
        leave, ['Data.cache_directory = "{text}/dev.en"'], r"\S+/dev\.en: (File exists|Not a directory)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("command", ["prepare", "train"])
@pytest.mark.parametrize("case", BAD_TEXT)
def test_before_a_run_begins(corpus, tmp_path, command, case):
    spoil, bindings, pattern = BAD_TEXT[case]
    spoil(corpus.parent)
    before = without_cache(tmp_path)
    params = [f"--gin_param={binding.replace('{text}', str(corpus.parent))}" for binding in bindings]
    require_one_line(run_command(command, f"--gin_file={corpus}", f"--workdir={tmp_path / 'run'}", *params), pattern)
    assert without_cache(tmp_path) == before


BAD_FLAGS = {
    "unknown split": (
        ["evaluate", "--workdir={run}", "--split=tset"],
        r"argument --split: invalid choice: 'tset' \(choose from '?train'?, '?dev'?, '?test'?\) \(--help .*",
    ),
    "no workdir": (["train", "--gin_file={gin}"], r"the following arguments are required: --workdir .*"),
    "no config": (["prepare"], r"the following arguments are required: --gin_file .*"),
    "misspelt flag": (["translate", "--workdir={run}", "--beam=1"], r"unrecognized arguments: --beam=1 .*"),
    "shortened flag": (["train", "--gin_file={gin}", "--workdir={run}", "--accept"], r"unrecognized arguments: .*"),
    "missing config": (
        ["train", "--gin_file={gin}.txt", "--workdir={run}"], r"\S+/tiny\.gin\.txt: No such file or directory",
    ),
    "another config": (
        ["train", "--gin_file={gin}", "--workdir={run}", "--gin_param=Model.d_ff=29", "--gin_param=Training.seed=7"],
        r"\S+/run was made with another config \(Model\.d_ff: 23 -> 29; Training\.seed: 1 -> 7\): choose another .*",
    ),
    "other shapes accepted": (
        ["train", "--gin_file={gin}", "--workdir={run}", "--accept_changes", "--gin_param=Model.d_ff = 29"],
        r"\S+/run has parameters of other shapes: choose another --workdir",
    ),
    "other text accepted": (
        ["train", "--gin_file={gin}", "--workdir={run}", "--accept_changes", '--gin_param=Data.train = "test.tsv"'],
        r"\S+/run has another vocabulary: choose another --workdir",
    ),
    "unknown tokeniser": (
        ["evaluate", "--workdir={run}", '--gin_param=Scoring.bleu_tokenizer = "moses"'],
        r"BLEU tokeniser 'moses': must be one of .*",
    ),
    "misspelt binding, evaluate": (
        ["evaluate", "--workdir={run}", "--gin_param=Decoding.beam = 1"],
        r"--gin_param=Decoding\.beam = 1: Decoding\.beam is no setting; did you mean Decoding\.beam_size\?",
    ),
    "misspelt binding, translate": (
        ["translate", "--workdir={run}", "--gin_param=decoding.beam_size = 1"],
        r"--gin_param=decoding\.beam_size = 1: decoding\.beam_size is no setting; did you mean Decoding\.beam_size\?",
    ),
    "another model, evaluate": (
        ["evaluate", "--workdir={run}", "--gin_param=Model.d_ff = 29"],
        r"checkpoint \S+/checkpoints/\d+ is another model's: params.* here",
    ),
    "another model, translate": (
        ["translate", "--workdir={run}", "--gin_param=Model.pre_norm = True"],
        r"checkpoint \S+/checkpoints/\d+ is another model's: params.* here",
    ),
    "no run, evaluate": (
        ["evaluate", "--workdir={gin}.d"], r"\S+/tiny\.gin\.d holds no run \(it has no config\.gin\): train one .*",
    ),
    "no run, translate": (
        ["translate", "--workdir={text}"], r"\S+/text holds no run \(it has no config\.gin\): train one there first",
    ),
    "someone else's folder, train": (
        ["train", "--gin_file={gin}", "--workdir={text}"], r"\S+/text is not empty and not a run's .*",
    ),
    "someone else's folder, prepare": (
        ["prepare", "--gin_file={gin}", "--workdir={text}"], r"\S+/text is not empty and not a run's .*",
    ),
    "a file for a folder": (
        ["train", "--gin_file={gin}", "--workdir={gin}"], r"\S+/tiny\.gin is not a directory: choose another --workdir",
    ),
    "a folder in a file": (
        ["train", "--gin_file={gin}", "--workdir={gin}/run"], r"\S+/tiny\.gin/run: Not a directory",
    ),
    "no test text": (
        ["evaluate", "--workdir={run}", '--gin_param=Data.test = "absent.tsv"'],
        r"\S+/absent\.tsv: No such file or directory",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_FLAGS)
def test_on_a_run(trained, trained_config, case):
    (command, *args), pattern = BAD_FLAGS[case]
    places = {"run": trained, "gin": trained_config, "text": trained_config.parent}
    before = without_cache(trained.parent)
    filled = [arg.format(**places) for arg in args]
    require_one_line(run_command(command, *filled, stdin=b"the old cat\n"), pattern)
    assert without_cache(trained.parent) == before


def remove_checkpoints(run):
    shutil.rmtree(run / "checkpoints")


def empty_checkpoints(run):
    for checkpoint in (run / "checkpoints").iterdir():
        shutil.rmtree(checkpoint)


def remove_vocabulary(run):
    (run / "vocabulary.model").unlink()


def cut_vocabulary(run):
    path = run / "vocabulary.model"
    path.write_bytes(path.read_bytes()[:100])


def cut_config(run):
    path = run / "config.gin"
    path.write_text(path.read_text()[:300])


BAD_RUNS = {
    "no checkpoints": (remove_checkpoints, r"\S+/run holds no checkpoint yet: train there first"),
    "empty checkpoints": (empty_checkpoints, r"\S+/run holds no checkpoint yet: train there first"),
    "no vocabulary": (remove_vocabulary, r"vocabulary \S+/vocabulary\.model: No such file or directory"),
    "cut vocabulary": (cut_vocabulary, r"vocabulary \S+/vocabulary\.model: not a SentencePiece model"),
    "cut config": (cut_config, r"(\S+/config\.gin, line \d+: .*|not set by any file or binding: .*)"),
}


@pytest.mark.parametrize("command", ["evaluate", "translate"])
@pytest.mark.parametrize("case", BAD_RUNS)
def test_on_half_a_run(copied, command, case):
    spoil, pattern = BAD_RUNS[case]
    spoil(copied)
    before = snapshot(copied)
    require_one_line(run_command(command, f"--workdir={copied}", stdin=b"the old cat\n"), pattern)
    assert snapshot(copied) == before
