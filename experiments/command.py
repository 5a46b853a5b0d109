"""What all commands share: the flags that say which experiment, and how a command ends on bad input."""

import argparse
import gc
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import jax
from rich.console import Console

from transformer_jax import parallel
from transformer_jax.errors import UserError
from transformer_jax.training.loop import Observer

_COMPILED = Path("~/.cache/transformer_jax/compiled")


class Parser(argparse.ArgumentParser):
    """Flags in full, and a line at most on what is wrong with them."""

    def __init__(self, description: str | None):
        raw = argparse.RawDescriptionHelpFormatter
        super().__init__(description=description, formatter_class=raw, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        """One line, as for all bad input, where argparse would print the usage above it."""
        self.exit(2, f"error: {message} (--help lists the flags)\n")


def parser(description: str | None, *, gin_file_required: bool) -> Parser:
    """A parser with `--gin_file` and `--gin_param`."""
    flags = Parser(description)
    flags.add_argument(
        "--gin_file",
        action="append",
        default=[],
        required=gin_file_required,
        help="a config; may be repeated, later ones override",
    )
    flags.add_argument(
        "--gin_param",
        action="append",
        default=[],
        help="a binding such as 'Training.seed = 2'; may be repeated, overrides the files",
    )
    return flags


def add_process_flags(flags: Parser) -> None:
    """What `joining` reads."""
    group = flags.add_argument_group("a run of several processes, each of which is started with the same other flags")
    group.add_argument("--distributed", action="store_true", help="as Slurm, Kubernetes or a TPU pod says")
    group.add_argument("--coordinator", metavar="HOST:PORT", help="of the first process; the port is one that is free")
    group.add_argument("--num_processes", type=int, metavar="N")
    group.add_argument("--process_id", type=int, metavar="I", help="from 0; the first writes the workdir")


def joining(flags: Parser, args: argparse.Namespace) -> Callable[[], None]:
    """Checks the flags; returns what then makes this process one of several, if they say so, and asks for devices."""
    given = args.coordinator, args.num_processes, args.process_id
    if args.distributed:
        if given != (None, None, None):
            flags.error("--distributed finds out what --coordinator, --num_processes and --process_id would say")
        return parallel.initialize
    if given == (None, None, None):
        return lambda: None
    if None in given:
        flags.error("--coordinator, --num_processes and --process_id need each other")
    if not re.fullmatch(r"\S+:\d+", args.coordinator):
        flags.error(f"--coordinator={args.coordinator}: must be HOST:PORT")
    if not 0 <= args.process_id < args.num_processes:
        flags.error(f"--process_id={args.process_id}: must be from 0 to --num_processes - 1")
    return lambda: parallel.initialize(*given)


class StopOnSignal:
    """True once SIGTERM or SIGINT has come. A second one ends the process at once, as usual."""

    def __init__(self) -> None:
        self._received = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._receive)

    def _receive(self, number: int, _frame: object) -> None:
        self._received = True
        signal.signal(number, signal.SIG_DFL)

    def __call__(self) -> bool:
        return self._received


def observer() -> Observer:
    """Says what is to be said on standard error, and stops on a signal."""
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    return Observer(lambda _: None, lambda line: console.print(line, markup=False), StopOnSignal())


def keep_compiled_programs() -> None:
    """What is compiled stays on disk for the next run, in the user's cache or where JAX's own setting says."""
    if jax.config.jax_compilation_cache_dir is None:  # type: ignore[attr-defined]
        jax.config.update("jax_compilation_cache_dir", str(_COMPILED.expanduser()))
    # JAX would keep what took a second or more; a search is made of dozens of programs that take less.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)


def run(main: Callable[[], None]) -> None:
    """Runs a command; bad input ends it with one clear line on standard error and exit code 1."""
    keep_compiled_programs()
    gc.freeze()  # what is imported stays: the collector would look through it again and again as a model is traced
    try:
        main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except BrokenPipeError:
        # Whoever read our output has gone, as in `translate | head`. What is still buffered would fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        print(f"error: {f'{error.filename}: {error.strerror}' if error.filename else error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
