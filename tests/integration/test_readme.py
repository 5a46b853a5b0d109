"""What the README, the Makefile and the commands' own docstrings say to type is what the commands accept."""

import argparse
import importlib
import re
import shlex
import sys
from pathlib import Path

import pytest
from tiny_commands import PROJECT_ROOT

from experiments.docs import STEPS
from experiments.gin_bindings import load_experiment, resolved
from experiments.study.definition import load_definition

README = PROJECT_ROOT / "README.md"
if not README.exists():
    pytest.skip("there is no README yet", allow_module_level=True)

TEXT = README.read_text(encoding="utf-8")
MAKEFILE = (PROJECT_ROOT / "Makefile").read_text(encoding="utf-8")
FENCED = re.findall(r"^```\w*\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = sorted(
    path.stem for path in (PROJECT_ROOT / "experiments").glob("*.py") if "__main__" in path.read_text(encoding="utf-8")
)
COMMAND = re.compile(r"-m experiments\.(\w+)(?: +(.*))?$")


class ParserSeen(BaseException):
    """Ends a command where it would read its flags."""


def parser_of(name):
    """The command's own parser, caught on its way."""
    seen = []

    def catch(self, *_):
        seen.append(self)
        raise ParserSeen

    module = importlib.import_module(f"experiments.{name}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", catch)
        patch.setattr(sys, "argv", [name])
        with pytest.raises(ParserSeen):
            module.main()
    return seen[0]


def usages():
    """(where, command, what follows it) of every line that runs a command."""
    docstrings = {f"{name}.py": importlib.import_module(f"experiments.{name}").__doc__ for name in COMMANDS}
    steps = "\n".join(step.command for step in STEPS)
    for where, text in {"README": "\n".join(FENCED), "Makefile": MAKEFILE, "STEPS": steps, **docstrings}.items():
        for line in text.splitlines():
            if match := COMMAND.search(line):
                yield where, match[1], re.split(r"[|<>]", match[2] or "")[0]


USAGES = list(usages())


def test_there_is_something_to_test():
    assert len(FENCED) >= 3
    assert {"prepare", "train", "evaluate", "translate"} <= {name for where, name, _ in USAGES if where == "README"}
    assert {where.removesuffix(".py") for where, _, _ in USAGES} >= set(COMMANDS), "each says how it is run"


@pytest.mark.parametrize(("where", "name", "flags"), USAGES)
def test_flags_that_are_told_are_flags_that_are_taken(where, name, flags):
    assert name in COMMANDS, where
    args = shlex.split(flags, comments=True)
    taken = parser_of(name).parse_args(args)
    for arg in args:
        if arg.startswith("--"):
            flag, _, value = arg[2:].partition("=")
            read = vars(taken)[flag]
            assert value in read if isinstance(read, list) else str(read) in (value, "True")


@pytest.mark.parametrize("name", COMMANDS)
def test_flags_named_in_running_text_exist(name):
    told = re.findall(rf"`{name} (--\w+)", TEXT)
    assert set(told) <= set(parser_of(name)._option_string_actions)


def test_configs_that_are_named_exist():
    named = set(re.findall(r"gin_configs/[\w/]*(?:\.gin)?", TEXT + MAKEFILE))
    assert "gin_configs/base.gin" in named
    assert [name for name in sorted(named) if not (PROJECT_ROOT / name).exists()] == []


def test_settings_that_are_named_exist():
    settings = resolved(load_experiment([PROJECT_ROOT / "gin_configs" / "base.gin"]))
    parts = {name.split(".")[0] for name in settings}
    named = {name for name in re.findall(r"\b[A-Z]\w+\.[a-z]\w*", TEXT) if name.split(".")[0] in parts}
    assert len(named) > 5
    assert named <= settings.keys()


def test_files_that_are_named_exist():
    """By their path, or by its end, where the place is said before."""
    files = [f"/{path.relative_to(PROJECT_ROOT)}" for top in ("transformer_jax", "experiments", "tests")
             for path in (PROJECT_ROOT / top).rglob("*.py")]  # fmt: skip
    named = set(re.findall(r"`([\w/]+\.py)`", TEXT))
    assert [name for name in sorted(named) if not any(file.endswith(f"/{name}") for file in files)] == []


def test_make_targets_that_are_named_exist():
    named = {target for told in re.findall(r"`make ([\w -]+)`|^make ([\w-]+)", TEXT, re.MULTILINE)
             for target in " ".join(told).split()}  # fmt: skip
    assert {"quickstart", "test"} <= named
    assert named <= set(re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE))


def test_configs_that_are_shown_are_configs(tmp_path: Path):
    """Beside `gin_configs`, as the text says."""
    (tmp_path / "gin_configs").symlink_to(PROJECT_ROOT / "gin_configs")
    shown = [block for block in FENCED if block.startswith("include ")]
    path = tmp_path / "mine.gin"
    sweeps = [block for block in shown if "sweep/" in block]
    for block in shown:
        path.write_text(block, encoding="utf-8")
        if block in sweeps:
            assert load_definition([path], []).space
        else:
            assert load_experiment([path]).data.directory == "data/my_corpus"
    assert 0 < len(sweeps) < len(shown)
