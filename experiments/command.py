"""What all commands share: the flags that say which experiment, and how a command ends on bad input."""

import argparse
import sys
from collections.abc import Callable

from transformer_jax.errors import UserError


def parser(description: str | None, *, gin_file_required: bool) -> argparse.ArgumentParser:
    """A parser with `--gin_file` and `--gin_param`."""
    raw = argparse.RawDescriptionHelpFormatter
    flags = argparse.ArgumentParser(description=description, formatter_class=raw, allow_abbrev=False)
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


def run(main: Callable[[], None]) -> None:
    """Runs a command; bad input ends it with one clear line on standard error and exit code 1."""
    try:
        main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
